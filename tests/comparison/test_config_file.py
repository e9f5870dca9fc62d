"""A comparison from a TOML file: what it may name, and how it refuses."""

import sys
from pathlib import Path

import numpy as np
import pytest

from driftopt.comparison import config_file as config


def write(folder: Path, text: str) -> Path:
    path = folder / "comparison.toml"
    path.write_text(text)
    return path


def test_a_toml_file_names_problems_and_methods_of_its_folder(tmp_path):
    (tmp_path / "shop_for_a_test.py").write_text(
        "from driftopt import methods\n"
        "from driftopt.problems.synthetic import kink\n"
        "problem = kink(2)\n"
        "def several(count):\n    return [kink(2, rng=k) for k in range(count)]\n"
        "def build(radius):\n    return methods.get('zo-sph', radius=radius, step=0.01)\n"
        "def noisy(x):\n    return float(abs(x).sum())\n"
    )
    head = 'budget = 40\n[methods.mine]\nmethod = "shop_for_a_test:build"\nradius = [0.1, 0.2]\n'
    given = config.read(write(tmp_path, 'problem = "shop_for_a_test:problem"\n' + head))
    assert given["problem"].dim == 2
    assert given["methods"]["mine"]["method"](radius=0.1).radius == 0.1
    options = "problem_options = { count = 3 }\n"
    given = config.read(write(tmp_path, 'problem = "shop_for_a_test:several"\n' + options + head))
    assert len(given["problem"]) == 3
    given = config.read(write(tmp_path, 'problem = "shop_for_a_test:noisy"\nx0 = [1.0]\n' + head))
    assert given["problem"](np.ones(2)) == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget = ", "not valid TOML"),
        ("budget = 3", "problem and methods must be given"),
        ('budget = 3\nproblem = "kink"\nspeed = 1\nmethods = {}', "unknown speed"),
        ('budget = 3\nproblem = "kinky"\nmethods = {}', "unknown problem 'kinky'; it is one of strategic"),
        (
            'budget = 3\nproblem = "no_such_module:x"\nmethods = {}',
            "there is no no_such_module.py in .*--allow-module",
        ),
        ('budget = 3\nproblem = "os:system"\nmethods = {}', "--allow-module os"),
        ('budget = 3\nproblem = "a b:c"\nmethods = {}', "is not a 'module:attribute'"),
        ('budget = 3\nproblem = "shop:"\nmethods = {}', "is not a 'module:attribute'"),
        ('budget = 3\nproblem = "kink"\nproblem_options = {size=3}\nmethods = {}', "do not fit kink"),
        ('budget = 3\nproblem = "kink"\nmethods = 3', "methods"),
        ('budget = 3\nproblem = "kink"\nversion = [1]\nmethods = {}', "version"),
        ('budget = 3\nproblem = "kink"\nversion = true\nmethods = {}', "version"),
    ],
)
def test_a_wrong_file_is_a_sentence(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        config.read(write(tmp_path, text))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        config.read(tmp_path / "none.toml")


# A file is code, but not any code


@pytest.fixture
def beside(tmp_path):
    """A file's folder with a module of a name that nothing else has."""

    def put(text: str) -> str:
        name = f"beside_{tmp_path.name}".replace("-", "_")
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return put


def test_a_module_that_is_not_allowed_is_not_even_imported(tmp_path, monkeypatch):
    package = tmp_path / "site" / "surprise_for_a_test"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from driftopt.problems.synthetic import kink\nproblem = kink(2)\n")
    monkeypatch.syspath_prepend(str(package.parent))
    text = 'budget = 40\nproblem = "surprise_for_a_test:problem"\n[methods.auto]\nradius = 1.0\n'
    with pytest.raises(ValueError, match="--allow-module surprise_for_a_test"):
        config.read(write(tmp_path, text))
    assert "surprise_for_a_test" not in sys.modules
    assert config.read(write(tmp_path, text), ["surprise_for_a_test"])["problem"].dim == 2


@pytest.mark.parametrize("line", ["from os import system", "import os; system = os.system"])
def test_what_a_module_only_passes_on_is_refused(tmp_path, beside, line):
    name = beside(f"{line}\n")
    text = f'budget = 40\nproblem = "{name}:system"\nproblem_options = {{ command = "touch gone" }}\n'
    for start in ("", "x0 = [1.0]\n"):
        with pytest.raises(ValueError, match="is defined in posix, not in a module of the file's folder"):
            config.read(write(tmp_path, text + start + "[methods.auto]\nradius = 1.0\n"))
    with pytest.raises(ValueError, match="is defined in posix"):
        config.read(
            write(tmp_path, f'budget = 4\nproblem = "kink"\n[methods.mine]\nmethod = "{name}:system"\n')
        )


def test_options_that_nothing_would_be_built_with_are_refused(tmp_path, beside):
    name = beside(
        "from driftopt.problems.synthetic import kink\n"
        "def build(dim):\n    return kink(dim)\n\n\nready = [kink(2), kink(2, rng=1)]\n"
    )
    rest = "problem_options = { dim = 3 }\nmethods = {}\n"
    with pytest.raises(ValueError, match=r"with x0, .*:build is a noisy function .*leave x0 out"):
        config.read(write(tmp_path, f'budget = 40\nx0 = [1.0]\nproblem = "{name}:build"\n{rest}'))
    with pytest.raises(ValueError, match=":ready is already built: leave problem_options out"):
        config.read(write(tmp_path, f'budget = 40\nproblem = "{name}:ready"\n{rest}'))


def test_a_factory_must_return_problems(tmp_path, beside):
    name = beside("def build(count=1):\n    return count\n\n\nlisted = [1, 2]\n")
    head = "budget = 40\n"
    three = f'{head}problem = "{name}:build"\nproblem_options = {{ count = 3 }}\nmethods = {{}}\n'
    with pytest.raises(ValueError, match=r"returned 3: without x0 it must return a Problem.*give x0"):
        config.read(write(tmp_path, three))
    with pytest.raises(ValueError, match="expected a Problem, a list of them, or a function"):
        config.read(write(tmp_path, f'{head}problem = "{name}:listed"\nmethods = {{}}\n'))
    with pytest.raises(ValueError, match="problem_options do not fit"):
        config.read(write(tmp_path, three.replace("count", "size")))


def test_functions_of_a_sibling_and_partial_ones_are_the_files_own(tmp_path, beside):
    name = beside(
        f"import functools\nfrom {tmp_path.name.replace('-', '_')}_inner import shifted\n"
        "near = functools.partial(shifted, by=1.0)\n"
    )
    inner = tmp_path / f"{tmp_path.name.replace('-', '_')}_inner.py"
    inner.write_text("def shifted(x, by=0.0):\n    return float(abs(x - by).sum())\n")
    for attribute in ("shifted", "near"):
        text = f'budget = 40\nproblem = "{name}:{attribute}"\nx0 = [1.0]\nmethods = {{}}\n'
        assert callable(config.read(write(tmp_path, text))["problem"])
