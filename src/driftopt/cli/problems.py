"""`driftopt problems`: every problem, its dimension, what is known of it and which package brings it."""

import json as encoder
from typing import Any

from driftopt.cli.arguments import Flag


def problems(*, json: Flag = False) -> None:
    """List the simulated problems and what is known of each.

    The optimum is where the exact objective is least, the stable point where retraining on one's own data
    rests. Either is known in closed form or by a search, or not at all. A problem's name goes into a
    comparison's file, or into `driftopt.problems.get`.

    ```text
    driftopt problems
    driftopt problems --json
    ```

    Args:
        json: print the same as JSON.
    """
    from driftopt.problems.registry import names

    if json:
        print(encoder.dumps([_as_data(name) for name in names()], ensure_ascii=False))
    else:
        _print_all()


def _as_data(name: str) -> dict[str, Any]:
    """What the registry says; null where the problem's package does not say."""
    from driftopt.problems.registry import entry

    line = entry(name)
    known = line.known
    return {
        "name": name,
        "summary": line.summary,
        "dimension": known and known.dim,
        "optimum": known and known.optimum,
        "stable_point": known and known.stable_point,
        "memory": known and known.memory,
        "package": line.provider,
    }


def _print_all() -> None:
    """Two columns, with what is known below what it is: they fit on a narrow terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from driftopt.plugins import OWN, brought_by
    from driftopt.problems.registry import names

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)  # a name cut in two is none
    table.add_column()
    for name in names():
        facts = _as_data(name)
        brought = "" if facts["package"] == OWN else f" ({brought_by(facts['package'])})"
        table.add_row(name, Text(f"{facts['summary']}{brought}\n").append(_words(facts), style="dim"))
    Console(highlight=False).print(table)


def _words(facts: dict[str, Any]) -> str:
    if facts["dimension"] is None:
        return "its package does not say what is known"
    words = f"d = {facts['dimension']}; optimum: {facts['optimum']}; stable point: {facts['stable_point']}"
    return f"{words}; remembers" if facts["memory"] else words
