"""Install each archive of a folder into a fresh environment and try it there: `python try_archives.py dist`.

The environment gets the core install alone, which has no JAX, and then JAX, so that what needs an extra and
does not say so shows here. Then the wheel gets what `make reproduce` installs and reproduces a little of the
paper: the suite itself has every extra.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


LITTLE = ["--methods=auto", "--development=1", "--seeds=2", "--budget=300", "--data=stand-in", "--out=little"]


def install(archive: Path, folder: Path) -> Path:
    """The interpreter of a new environment that holds the archive and what it asks for, nothing else."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    add(python, str(archive))
    return python


def add(python: Path, what: str) -> None:
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *constraints, what], check=True)


def main(folder: str) -> None:
    """Stop at the first archive that does not work."""
    archives = sorted(Path(folder).resolve().iterdir())
    kinds = [archive.suffix for archive in archives]
    if sorted(kinds) != [".gz", ".whl"]:
        sys.exit(
            f"{folder} should hold one wheel and one sdist, not {[archive.name for archive in archives]}"
        )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for archive in archives:
        with tempfile.TemporaryDirectory() as fresh:
            python = install(archive, Path(fresh) / "env")
            script = ROOT / "tests" / "packaging" / "try_installed.py"
            # From an empty folder, where the source tree cannot be imported by chance.
            empty = Path(fresh) / "empty"
            empty.mkdir()
            for part in ("core", "simulate"):
                if part != "core":
                    add(python, f"{archive}[{part}]")
                subprocess.run([python, script, ROOT, part], cwd=empty, env=environment, check=True)
            if archive.suffix == ".whl":
                add(python, f"{archive}[report]")
                command = [python, "-m", "driftopt", "reproduce", *LITTLE]
                subprocess.run(command, cwd=empty, env=environment, stdout=subprocess.DEVNULL, check=True)
                assert (empty / "little" / "report.html").exists()
        print(f"{archive.name}: installs and runs")


if __name__ == "__main__":
    main(*sys.argv[1:])
