"""What the comments of a class say of its fields: the one on a field's last line, or those right above it."""

import ast
import inspect
import io
import re
import textwrap
import tokenize
from functools import cache
from pathlib import Path
from typing import Any

FOR_TOOLS = re.compile(r"(pyright|type|noqa|pragma|fmt)\b")


def described(node: ast.ClassDef, source: str) -> dict[str, str]:
    """Each public field of the class and its comment, empty where there is none, in their order.

    >>> source = "class A:\\n    # Metres.\\n    x: int\\n    y: int = 0  # seconds"
    >>> described(ast.parse(source).body[0], source)
    {'x': 'Metres.', 'y': 'seconds'}
    """
    lines, comments = source.splitlines(), comments_by_line(source)
    found: dict[str, str] = {}
    for statement in node.body:
        for name in field_names(statement, node):
            last = statement.end_lineno or statement.lineno
            found[name] = comments.get(last, "") or above(lines, comments, statement.lineno)
    return found


def field_names(statement: ast.stmt, owner: ast.ClassDef) -> list[str]:
    """What a statement of a class body declares: annotated names, and an enumeration's members."""
    members = any("Enum" in ast.unparse(base) for base in owner.bases)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    elif isinstance(statement, ast.Assign) and members:
        targets = statement.targets
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


@cache
def comments_by_line(source: str) -> dict[int, str]:
    """The text of each comment by its line; those for tools are left out."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    return {line: text for line, text in found.items() if not FOR_TOOLS.match(text)}


def above(lines: list[str], comments: dict[int, str], line: int) -> str:
    """The comment lines that end right above a line, as one sentence after another."""
    first = line
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return " ".join(comments.get(number, "") for number in range(first, line)).strip()


def class_comments(value: type) -> dict[str, str]:
    """The same for a class that is loaded, whose parents may describe what it declares again."""
    own: dict[str, str] = {}
    for number, one in enumerate(value.__mro__):
        if not one.__module__.startswith(value.__module__.partition(".")[0]):
            continue
        try:
            source = Path(inspect.getsourcefile(one) or "").read_text(encoding="utf-8")
        except (TypeError, OSError):
            continue
        for name, text in described(class_node(one, source), source).items():
            if number == 0 or (name in own and not own[name]):
                own[name] = text
    return own


def class_node(value: type, source: str) -> ast.ClassDef:
    """Where a loaded class stands in its file's source."""
    wanted = value.__qualname__.rpartition(".")[2]
    nodes = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.ClassDef))
    return next(node for node in nodes if node.name == wanted)


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def named_in(text: str, field: str) -> bool:
    """Whether a docstring speaks of a field: as code, or under `Args:` or `Attributes:`."""
    entry = re.search(rf"^\s+{field}: ", textwrap.indent(text, " "), re.MULTILINE)
    return f"`{field}`" in text or entry is not None


def unexplained(value: Any) -> list[str]:
    """The fields of a class that neither a comment nor its docstring explains."""
    text = inspect.getdoc(value) or ""
    return [
        name for name, comment in class_comments(value).items() if not comment and not named_in(text, name)
    ]
