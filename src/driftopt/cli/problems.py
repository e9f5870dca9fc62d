"""`driftopt problems`: every problem with its dimension, its known solutions and its package."""

import json as encoder
from typing import Any

from driftopt.cli.arguments import Flag


def problems(*, json: Flag = False) -> None:
    """List the simulated problems and what is known of each.

    The optimum minimises the exact objective; the stable point is the fixed point of retraining. Each is
    known in closed form, by a search, or not at all. Use a problem's name in a comparison's file or in
    `driftopt.problems.get`.

    ```text
    driftopt problems
    driftopt problems --json
    ```

    Args:
        json: print the list as JSON.
    """
    from driftopt.problems.registry import names

    described = [_as_data(name) for name in names()]
    if json:
        print(encoder.dumps(described, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from driftopt.plugins import OWN, brought_by

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))  # two columns, for a narrow terminal
    table.add_column(no_wrap=True)  # names must not break
    table.add_column()
    for facts in described:
        brought = "" if facts["package"] == OWN else f" ({brought_by(facts['package'])})"
        known = (
            f"d = {facts['dimension']}; optimum: {facts['optimum']}; stable point: {facts['stable_point']}"
        )
        if facts["dimension"] is None:
            known = "its package states no dimension and no solutions"
        elif facts["memory"]:
            known += "; remembers"
        table.add_row(facts["name"], Text(f"{facts['summary']}{brought}\n").append(known, style="dim"))
    Console(highlight=False).print(table)


def _as_data(name: str) -> dict[str, Any]:
    """One problem as JSON data; null for what its package does not state."""
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
