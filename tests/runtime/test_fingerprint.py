"""The fingerprint changes with everything a result depends on, and with nothing else."""

import ast
import shutil
from pathlib import Path

import pytest

import driftopt
from driftopt.runtime import fingerprint

HOME = Path(driftopt.__file__).parent
# What covered code may import without being covered by it, and why no result depends on it.
HARMLESS = {
    "driftopt.runtime": "finds and keeps what is computed",
    "driftopt.data": "the numbers it loads are leaves of a problem, and hashed as such",
    "driftopt.report": "words and pages about what was computed",
    "driftopt.packages": "says which optional packages are missing",
    "driftopt.plugins": "finds methods and problems of other packages, which are hashed themselves",
    "driftopt.paper.protocol": "the problems and grids it makes are hashed",
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(HOME.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> set[str]:
    """The modules of driftopt that a file imports, at the top or within a function."""
    modules = {module_name(file) for file in HOME.rglob("*.py")}
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import, which this test does not follow"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found & modules


def test_covered_code_imports_no_code_that_is_not():
    covered = fingerprint.covered_files(HOME)
    names = {module_name(path) for path in covered}
    for path in covered:
        for module in imported(path) - names:
            names_only = module == "driftopt"  # `from driftopt import checks`
            harmless = any(module == name or module.startswith(f"{name}.") for name in HARMLESS)
            assert names_only or harmless, (
                f"{module_name(path)} uses {module}: add it to COVERED, or say here why it may stay out"
            )


def test_every_name_in_the_list_is_there():
    assert [name for name in fingerprint.COVERED if not (HOME / name).exists()] == []


@pytest.mark.parametrize(
    ("edited", "changes"),
    [
        ("methods/o2nc.py", True),
        ("drivers", True),
        ("problems", True),
        ("sweep/simulated.py", True),
        ("comparison/functions.py", True),
        ("cli/demo.py", False),
        ("report", False),
        ("study", False),
        ("cli", False),
        ("sweep/progress.py", False),
    ],
)
def test_an_edit_counts_where_a_result_depends_on_it(tmp_path, monkeypatch, edited, changes):
    copy = tmp_path / "driftopt"
    shutil.copytree(HOME, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fingerprint.driftopt, "__file__", str(copy / "__init__.py"))
    before = fingerprint.code_version.__wrapped__()
    for path in [copy / edited] if edited.endswith(".py") else (copy / edited).glob("*.py"):
        path.write_text(path.read_text() + "\nEDITED = True\n")
    assert (fingerprint.code_version.__wrapped__() != before) == changes
