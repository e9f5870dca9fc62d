"""The outer shell: workflows, hooks and metadata name things that exist, and agree with each other."""

import re
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
