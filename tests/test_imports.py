"""Imports point one way: read from the source with `ast`, deferred and typing-only ones included.

A module that needs something from above has its line in the wrong room: move the line, not the rule.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import driftopt

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "driftopt"
DOOR = "driftopt"  # the package itself: it loads every public name when first used, and nothing before

# From the ground up. A room imports from rooms below its own layer; only on the ground may neighbours meet.
LAYERS = (
    (
        "averages",
        "checks",
        "pytree",
        "shapes",
        "packages",
        "plugins",
        "rng",
        "runtime",
        "method",
        "oracle",
        "problem",
        "space",
        "answers",
        "model",
        "report",
        "outside",
    ),
    ("methods", "data"),
    ("problems",),
    ("drivers", "stationarity", "theory"),
    ("sweep", "study", "generator"),
    ("comparison", "paper"),
    ("service",),
    ("cli",),
    ("__main__",),
)
# What a room must not reach by any path, although the layers would allow it.
UNKNOWN_TO = {"study": ("problems", "data"), "methods": ("problem", "problems", "drivers", "data")}


class Import(NamedTuple):
    source: str
    target: str
    for_types: bool  # below `if TYPE_CHECKING:`


def module_name(path: Path) -> str:
    parts = ("driftopt", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def room(module: str) -> str:
    """`driftopt.study.log` lives in `study`, the package itself nowhere."""
    return [*module.split("."), DOOR][1]


def targets(node: ast.AST) -> list[str]:
    """The driftopt modules that a node imports, by statement or by a string ("driftopt.cli.plan:plan")."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in MODULES]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"write the whole name instead of a relative import: {ast.unparse(node)}"
        named = [(f"{node.module}.{alias.name}", node.module or "") for alias in node.names]
        return [inner if inner in MODULES else outer for inner, outer in named if outer in MODULES]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = re.fullmatch(r"(driftopt(?:\.\w+)+)(?::\w+)?", node.value)
        return [found[1]] if found and found[1] in MODULES else []
    return []


def typing_only(tree: ast.Module) -> set[ast.AST]:
    """Every node below an `if TYPE_CHECKING:`."""
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    ]
    return {node for block in blocks for line in block.body for node in ast.walk(line)}


@cache
def read_imports() -> tuple[Import, ...]:
    """Every import of one driftopt module by another."""
    found = []
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        types = typing_only(tree)
        found += [
            Import(module, target, node in types)
            for node in ast.walk(tree)
            for target in targets(node)
            if target not in (module, DOOR)
        ]
    return tuple(found)


def imports() -> list[Import]:
    """Those that the rules are for."""
    return [line for line in read_imports() if line.source != DOOR]


def graph(name: Callable[[str], str] = str) -> dict[str, set[str]]:
    """Who imports whom, by module or by room."""
    edges: dict[str, set[str]] = {}
    for line in imports():
        if name(line.source) != name(line.target):
            edges.setdefault(name(line.source), set()).add(name(line.target))
    return edges


def cycle(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def reachable(start: set[str], edges: dict[str, set[str]]) -> set[str]:
    seen, todo = set(), list(start)
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            todo += edges.get(here, ())
    return seen


def layer(module: str) -> int:
    (found,) = [number for number, rooms in enumerate(LAYERS) if room(module) in rooms] or [None]
    assert found is not None, f"{module} is in no layer: give its room a place in LAYERS, as low as it can be"
    return found


def breaches() -> set[tuple[str, str]]:
    """Imports against the layers, each as (importing module, imported module)."""
    return {
        (line.source, line.target)
        for line in imports()
        if room(line.source) != room(line.target)
        if layer(line.target) > layer(line.source) or layer(line.target) == layer(line.source) > 0
    }


@pytest.mark.parametrize("name", [str, room], ids=["modules", "rooms"])
def test_there_are_no_cycles(name):
    assert not cycle(graph(name))


def test_every_import_points_down():
    assert not breaches()


@pytest.mark.parametrize("start", sorted(UNKNOWN_TO))
def test_what_a_room_knows_nothing_of(start):
    met = reachable({module for module in MODULES if room(module) == start}, graph())
    assert not sorted(module for module in met if room(module) in UNKNOWN_TO[start])


def test_nothing_imports_the_command_line():
    users = {line.source for line in imports() if room(line.target) == "cli" and room(line.source) != "cli"}
    assert users == {"driftopt.__main__"}


def test_the_package_imports_nothing_until_a_name_is_used():
    lines = [line for line in read_imports() if line.source == DOOR]
    by_string = {*driftopt._HOMES, "driftopt.packages"}
    assert lines
    assert {line.target for line in lines if not line.for_types} <= by_string


# The detectors, on trees that are known to be wrong: a test that cannot fail holds nothing.


def test_a_planted_cycle_is_found():
    edges = graph()
    one, others = next((one, others) for one, others in edges.items() if others)
    other = next(iter(others))
    assert cycle({**edges, other: {*edges.get(other, ()), one}})


@pytest.mark.parametrize(
    "line",
    [
        "import driftopt.checks",
        "from driftopt import checks",
        "from driftopt.checks import positive",
        "def late():\n    from driftopt import checks",
        "import_module('driftopt.checks')",
        "command('driftopt.checks:positive')",
    ],
)
def test_an_import_is_seen_however_it_is_written(line):
    found = [target for node in ast.walk(ast.parse(line)) for target in targets(node)]
    assert set(found) == {"driftopt.checks"}


def test_sql_is_spoken_in_one_room_alone():
    """The rest of a study knows rows as plain tuples."""
    speakers = {
        path.relative_to(SOURCE).parent.as_posix()
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        if re.match(r"(sqlalchemy|sqlite3|psycopg)\b", name)
    }
    assert speakers == {"study/log"}


@pytest.mark.parametrize(
    "room", ["problems", "methods", "study", "sweep", "comparison", "stationarity", "data"]
)
def test_no_file_takes_the_place_of_a_public_name(room):
    """Importing a file sets its name in the package, and would hide a function of that name."""
    package = importlib.import_module(f"driftopt.{room}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"driftopt.{room}.{module.name}")
    assert [name for name in package.__all__ if inspect.ismodule(getattr(package, name))] == []


def test_nobody_waits_for_scipy_before_it_is_needed():
    """It takes as long to load as JAX, and a sequential method needs none of it."""
    run = "driftopt.minimize(lambda x: x @ x, [1.0], budget=8, radius=0.1, method='walk')"
    used = f"driftopt.Study, driftopt.sweep, {run}"
    code = f"import driftopt, sys; {used}; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
