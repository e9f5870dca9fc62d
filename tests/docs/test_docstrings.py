"""One docstring style: a first line, then `Args:`, `Returns:` and `Raises:` where they help."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest
from docstring_parser import DocstringStyle, parse

import driftopt

SOURCE = Path(driftopt.__file__).parent
DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def docstrings():
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 1)}", node, text


def test_described_arguments_exist():
    for place, node, text in docstrings():
        if not isinstance(node, ast.FunctionDef) or "Args:" not in text:
            continue
        arguments = node.args
        names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
        described = {p.arg_name for p in parse(text, DocstringStyle.GOOGLE).params}
        assert described <= names, f"{place}: {sorted(described - names)}"


PUBLIC = ("", ".methods", ".problems", ".study", ".sweep", ".comparison", ".theory", ".stationarity", ".data")
PUBLIC += (".oracle", ".problem", ".space", ".answers", ".plugins", ".rng")


def public_functions():
    """Every public function, by its name."""
    homes = [import_module(f"driftopt{part}") for part in PUBLIC]
    things = {f"{home.__name__}.{name}": getattr(home, name) for home in homes for name in home.__all__}
    return {place: thing for place, thing in things.items() if inspect.isfunction(thing)}


@pytest.mark.parametrize(("place", "function"), public_functions().items())
def test_a_public_function_describes_all_of_its_arguments(place, function):
    """One argument alone is what the first line speaks of."""
    described = {p.arg_name for p in parse(inspect.getdoc(function), DocstringStyle.GOOGLE).params}
    taken = set(inspect.signature(function).parameters)
    assert described == taken or (not described and len(taken) == 1), place
