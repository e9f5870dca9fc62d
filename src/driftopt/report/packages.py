"""What the files of a report need beyond the core installation, looked for before anything runs."""

from importlib.util import find_spec

from driftopt.report.numbers import listed

NEEDED = ("polars", "jinja2", "matplotlib")
INSTALL = "pip install 'driftopt[report]'"


def missing_packages() -> list[str]:
    """The packages that tables, pictures and pages need and that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def require_report_packages(what: str) -> None:
    """Refuse to begin what could not be written at the end.

    Raises:
        ValueError: some are missing; the message has the command that installs them.
    """
    if missing := missing_packages():
        raise ValueError(f"{what} needs {listed(missing)} for its files; install with: {INSTALL}")
