"""A comparison from a TOML file: what it may name, and how it refuses."""

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
        ("budget = ", "no valid TOML"),
        ("budget = 3", "problem and methods must be given"),
        ('budget = 3\nproblem = "kink"\nspeed = 1\nmethods = {}', "unknown speed"),
        ('budget = 3\nproblem = "kinky"\nmethods = {}', "unknown problem 'kinky'; it is one of strategic"),
        ('budget = 3\nproblem = "no_such_module:x"\nmethods = {}', "must be installed or lie in"),
        ('budget = 3\nproblem = "json:nothing"\nmethods = {}', "has no nothing"),
        ('budget = 3\nproblem = "kink"\nproblem_options = {size=3}\nmethods = {}', "do not fit kink"),
        ('budget = 3\nproblem = "kink"\nmethods = 3', "methods must be a table"),
    ],
)
def test_a_wrong_file_is_a_sentence(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        config.read(write(tmp_path, text))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        config.read(tmp_path / "none.toml")


def test_the_named_problems_all_build():
    for name in ("kink", "two-wells", "location-shift", "pricing"):
        assert config.problem(name, {}, Path(), oracle=False).dim > 1
