"""Install each archive of a folder into a fresh environment and try it there: `python try_archives.py dist`.

The environment gets the core install alone, so that what needs an extra and does not say so shows here.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(archive: Path, folder: Path) -> Path:
    """The interpreter of a new environment that holds the archive and what it asks for, nothing else."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *constraints, archive], check=True)
    return python


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
            (Path(fresh) / "empty").mkdir()
            subprocess.run([python, script, ROOT], cwd=Path(fresh) / "empty", env=environment, check=True)
        print(f"{archive.name}: installs and runs")


if __name__ == "__main__":
    main(*sys.argv[1:])
