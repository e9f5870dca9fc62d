"""`driftopt compare`: methods on your own problem."""

from pathlib import Path


def compare(file: Path, *, out: Path | None = None) -> None:
    """Compare methods on your own problem, from a TOML file, with intervals and tests.

    Args:
        file: What to compare: problem, methods with the values to try, budget; docs/compare.md shows
            examples.
        out: The folder for tables, results and report.html; results/NAME-OF-THE-FILE unless told otherwise.
    """
    from driftopt.comparison.comparison import compare
    from driftopt.comparison.config_file import read
    from driftopt.runtime.jax_settings import prepare

    prepare()
    arguments = read(file)
    folder = Path("results") / file.stem if out is None else out
    made = compare(**arguments, folder=folder, progress=True)
    made.write(folder)
    print(made)
    print(f"Everything is in {folder} (open {folder / 'report.html'})")
