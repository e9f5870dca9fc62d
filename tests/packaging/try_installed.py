"""Run by try_archives.py in a fresh environment.

Everything is there and the core works without JAX; with JAX the README's code runs, and plugins too.
"""

import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import metadata, version
from pathlib import Path

PROBLEM = ["--dim=2", "--lipschitz=1", "--noise=1", "--gap=1", "--epsilon=1", "--delta=1"]


def files_are_complete(package: Path, source: Path) -> None:
    """Every file of the source package, data files included, and no other."""

    def listing(folder: Path) -> set[str]:
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {str(path) for path in found if "__pycache__" not in path.parts}

    assert listing(package) == listing(source), listing(package) ^ listing(source)


def commands_run(*commands: list[str]) -> None:
    """Each prints something."""
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip(), command


def links_are_whole(description: str) -> None:
    """What a package index shows: it has no file beside it to which a link could lead."""
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert len(links) > 10, "the description has no links: is it the README?"
    assert all(link.startswith("https://") for link in links), links


def readme_runs(readme: Path) -> None:
    """Its Python blocks, top to bottom, in one namespace."""
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, names)


def a_plugin_is_used(root: Path) -> None:
    """Another package, installed by pip into this environment, is at home in every entry."""
    sys.path.append(str(root / "tests"))
    from support.tiny_package import FIVE_ENTRIES, wheel

    with tempfile.TemporaryDirectory() as folder:
        offline = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
        pip = [sys.executable, "-m", "pip", "install", *offline, str(wheel(Path(folder)))]
        subprocess.run(pip, check=True)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", FIVE_ENTRIES, folder],
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "tiny-driftopt" in done.stdout, done.stdout


def main(root: str, part: str) -> None:
    """An assertion that fails names what is wrong."""
    import driftopt

    script = str(Path(sys.executable).parent / "driftopt")
    if part == "simulate":
        commands_run([script, "methods"])
        readme_runs(Path(root) / "README.md")
        return a_plugin_is_used(Path(root))
    package = Path(driftopt.__file__).parent
    assert Path(root) not in package.parents, f"{package} is the source tree, not an installed package"
    assert version("driftopt") == driftopt.__version__
    assert "Documentation" in str(metadata("driftopt").get_all("Project-URL"))
    links_are_whole(str(metadata("driftopt").get_payload()))
    files_are_complete(package, Path(root) / "src" / "driftopt")
    commands_run(
        [script, "--version"], [script, "--help"], [sys.executable, "-m", "driftopt", "plan", *PROBLEM]
    )
    study = driftopt.Study.create("sqlite:///shop.db", "tea", x0=[3.0], bounds=[(1, 9)])
    study.tell(study.ask().id, 2.0)
    driftopt.minimize(lambda x: float(x @ x), [1.0, 2.0], budget=5)
    assert "jax" not in sys.modules
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
