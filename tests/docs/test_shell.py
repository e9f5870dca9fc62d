"""The outer shell: workflows, hooks and metadata name things that exist, and agree with each other."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

import driftopt

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


def test_the_hooks_run_what_make_check_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0][
        "hooks"
    ]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = re.search(r"^check: ([a-z ]+)  ##", makefile, flags=re.MULTILINE)[1].split()
    assert [hook["entry"] for hook in hooks] == [f"make {part}" for part in parts]


def test_ci_tests_every_python_that_is_promised():
    promised = [
        line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)
    ]
    (ci,) = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS if path.stem == "ci"]
    matrix = ci["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"
    assert {line["jax"] for line in matrix["include"]} == {"oldest", "newest"}


def test_ci_tests_the_oldest_jax_that_is_promised():
    (oldest,) = [line.partition(">=")[2] for line in PROJECT["dependencies"] if line.startswith("jax")]
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert f"'jax=={oldest}.0' 'jaxlib=={oldest}.0'" in text


def test_ci_runs_the_tests_that_need_postgresql():
    """Else they are skipped: its programs are not on PATH, and a failed installation must be seen."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert 'ls -d /usr/lib/postgresql/*/bin | tail -1 >> "$GITHUB_PATH"' in text
    assert "|| true" not in text


def test_a_submission_finds_postgresql_where_debian_puts_it(tmp_path):
    """The lines of .ci/run, with two versions in the folder: the newer one is added; with none, nothing."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith("server="))
    assert place < lines.index("make check")
    for version in ("9", "15"):
        (tmp_path / "some" / version / "bin").mkdir(parents=True)
    for folder, added in (("some", f":{tmp_path}/some/15/bin"), ("none", "")):
        code = "\n".join(lines[place : place + 2]).replace("/usr/lib/postgresql", str(tmp_path / folder))
        code = f'set -euo pipefail\nbefore=$PATH\n{code}\necho "${{PATH#"$before"}}"'
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == added


def test_the_address_of_the_documentation_is_the_site_that_is_published():
    owner, name = PROJECT["urls"]["Homepage"].removeprefix("https://github.com/").split("/")
    assert PROJECT["urls"]["Documentation"] == f"https://{owner}.github.io/{name}/"
    assert "pages" in {path.stem for path in WORKFLOWS}


def test_workflows_may_only_read_unless_they_publish():
    for path in WORKFLOWS:
        granted = yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"]
        assert granted["contents"] == "read", path.name
        assert path.stem == "pages" or set(granted) == {"contents"}, path.name


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    elsewhere = [
        name
        for name in ("pyproject.toml", "CITATION.cff", "mkdocs.yml", "README.md")
        if re.search(rf"\b{re.escape(driftopt.__version__)}\b", (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert not elsewhere
    assert f"## {driftopt.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_templates_are_forms_that_can_be_read():
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert {path.stem for path in forms} >= {"bug", "feature", "method"}
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"], path.name
        assert form["description"], path.name
        ids = [part["id"] for part in form["body"]]
        assert len(ids) == len(set(ids)), path.name


def test_the_site_is_built_strictly():
    """With --quiet mkdocs counts no warnings, and a broken link would pass."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = [line for line in makefile.splitlines() if "mkdocs build" in line]
    assert "--strict" in line
    assert "quiet" not in line
