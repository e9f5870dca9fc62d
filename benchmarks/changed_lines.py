"""Every single change of a file that mutation testing may make: an operator, a number, a condition.

Left alone is what is read and not computed: annotations, decorators, the texts of errors, `__repr__`.
"""

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COSMETIC = ("__repr__", "__str__", "_repr_html_")
WIDTH = 100  # of what is shown around a number
HEADERS = {"If": "test", "While": "test", "For": "iter", "With": "items"}

Change = Callable[[ast.AST], None]


@dataclass(frozen=True)
class Mutant:
    """One change: the index-th node in the order of ast.walk, by the which-th of its changes."""

    path: Path
    index: int
    which: int
    name: str  # file, function, before -> after; unique, and the same when lines move
    lines: tuple[int, int]  # of the statement, the first and the last: it runs if one of them does

    def text(self) -> str:
        """The whole file with the change in it."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        _apply(tree, self.index, self.which)
        return ast.unparse(tree)


def mutants(path: Path, root: Path) -> list[Mutant]:
    """Every mutant of one file, named by its path below the root."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    order = {id(node): index for index, node in enumerate(ast.walk(tree))}
    found: list[Mutant] = []
    names: Counter[str] = Counter()
    for node, parent, function, lines in _nodes(tree, "", (0, 0)):
        for which, _ in enumerate(_changes(node)):
            before, after = _shown(node, parent, which)
            if before == after:  # 1e50 + 1 is 1e50
                continue
            name = f"{path.relative_to(root)} {function or 'module'}: {before} -> {after}"
            names[name] += 1
            again = f" ({names[name]})" if names[name] > 1 else ""
            found.append(Mutant(path, order[id(node)], which, name + again, lines))
    return found


def _apply(tree: ast.AST, index: int, which: int) -> None:
    node = next(node for i, node in enumerate(ast.walk(tree)) if i == index)
    list(_changes(node))[which](node)


def _shown(node: ast.AST, parent: ast.AST, which: int) -> tuple[str, str]:
    """Before and after; a condition stands for its whole statement, and a number is shown where it stands."""
    if isinstance(node, ast.Constant) and len(ast.unparse(parent)) <= WIDTH and not hasattr(parent, "body"):
        around = copy.deepcopy(parent)
        _apply(around, next(i for i, child in enumerate(ast.walk(parent)) if child is node), which)
        return ast.unparse(parent), ast.unparse(around)
    changed = copy.deepcopy(node)
    texts: list[str] = []
    for change in (None, list(_changes(changed))[which]):
        if change is not None:
            change(changed)
        head = isinstance(changed, ast.If | ast.While)
        texts.append(f"if {ast.unparse(changed.test)}" if head else ast.unparse(changed))
    return texts[0], texts[1]


def _nodes(
    node: ast.AST, function: str, lines: tuple[int, int]
) -> Iterator[tuple[ast.AST, ast.AST, str, tuple[int, int]]]:
    """The nodes below that may be changed, each with its parent, function and the lines of its statement."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_cosmetic(child):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}".lstrip(".")
            own = _lines(child, lines)
            yield child, node, inner, own
            yield from _nodes(child, inner, own)


def _is_cosmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in COSMETIC
    if isinstance(node, ast.keyword):
        return node.arg == "strict"  # of zip: what is asked is that lengths never differ
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("warnings.warn", "TypeVar", "NewType")
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _lines(node: ast.AST, outside: tuple[int, int]) -> tuple[int, int]:
    """A statement's own lines, of one that holds others only its head; within a statement those outside."""
    header = getattr(node, HEADERS.get(type(node).__name__, ""), None)
    if header is not None:
        first = header[0].context_expr if isinstance(header, list) else header
        last = header[-1].context_expr if isinstance(header, list) else header
        return first.lineno, last.end_lineno or last.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.lineno, max(node.lineno, node.body[0].lineno - 1)
    if isinstance(node, ast.stmt) and not hasattr(node, "body"):
        return node.lineno, node.end_lineno or node.lineno
    if isinstance(node, ast.Lambda):
        return node.lineno, node.end_lineno or node.lineno
    return outside


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield lambda n: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda n: setattr(n, "value", n.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda n: setattr(n, "value", not n.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not _turns_round(node.test):
        yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def _turns_round(test: ast.expr) -> bool:
    """Whether the comparison's own swap is the negation, so that one mutant is enough."""
    opposite = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], opposite)
