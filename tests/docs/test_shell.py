"""The outer shell: workflows, hooks and metadata name things that exist, and agree with each other."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_every_make_target_that_is_named_exists():
    named = [
        (path.name, target)
        for path in (*WORKFLOWS, ROOT / ".pre-commit-config.yaml", ROOT / ".ci" / "run", ROOT / "README.md")
        for target in re.findall(r"\bmake ([a-z-]+)", path.read_text(encoding="utf-8"))
    ]
    assert len(named) > 8
    assert not [(name, target) for name, target in named if target not in TARGETS]


def extras_installed(target, environment):
    """What `make target` would install into an environment, step by step: the sets of extras."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", target, f"VENV={environment}"]
    done = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, text=True, check=True)
    return [set(extras.split(",")) for extras in re.findall(r"--editable '\.\[([\w,]+)\]'", done.stdout)]


def test_reproduce_installs_its_part_and_other_targets_the_rest(tmp_path):
    """By the stamps of an environment: none, that of `make reproduce`, both, and old ones."""
    part, ready = tmp_path / ".reproduces", tmp_path / ".ready"
    assert extras_installed("reproduce", tmp_path) == [{"report"}]
    first, rest = extras_installed("test", tmp_path)
    assert first == {"report"} < rest <= set(PROJECT["optional-dependencies"])
    part.touch()
    assert extras_installed("reproduce", tmp_path) == []
    assert extras_installed("test", tmp_path) == [rest]
    ready.touch()
    assert extras_installed("test", tmp_path) == []
    for stamp in (part, ready):
        os.utime(stamp, (0, 0))
    assert extras_installed("test", tmp_path) == [first, rest]
    part.touch()  # `make reproduce` came first
    assert extras_installed("test", tmp_path) == [rest]


def test_ci_tests_every_python_that_is_promised():
    promised = [
        line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)
    ]
    (ci,) = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS if path.stem == "ci"]
    matrix = ci["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert {line["jax"] for line in matrix["include"]} == {"oldest", "newest"}


def test_workflows_may_only_read_unless_they_publish():
    for path in WORKFLOWS:
        granted = yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"]
        assert granted["contents"] == "read", path.name
        assert path.stem == "pages" or set(granted) == {"contents"}, path.name
