"""`python -m benchmarks [part …]`: run every part, or those named, print one table and write JSON."""

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.rows import WrongResult
from driftopt.runtime.jax_settings import prepare

PARTS = (
    "startup",
    "host",
    "over_lanes",
    "simulation",
    "scaling",
    "studies",
    "service",
    "full_protocol",
)
OUT = Path("results/bench.json")


def main() -> int:
    """1 where a timed run gave a wrong answer; a missed target is a line in the table, not a failure."""
    chosen = sys.argv[1:] or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    prepare()
    console, lines, wrong = Console(), [], False
    for part in chosen:
        began = time.perf_counter()
        console.print(f"[dim]{part} …[/dim]")
        try:
            lines += [{"part": part, **line} for line in import_module(f"benchmarks.{part}").rows()]
        except WrongResult as error:
            console.print(f"[bold red]{part}: wrong result: {error}[/bold red]")
            wrong = True
        console.print(f"[dim]{part}: {time.perf_counter() - began:.0f} s[/dim]")
    console.print(_table(lines))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(lines, indent=1) + "\n")
    console.print(f"also in {OUT}")
    return int(wrong)


def _table(lines: list[dict[str, Any]]) -> Table:
    table = Table("what", "ours", "alternative", "ratio", "target", "met")
    for line in lines:
        ratio = (
            ""
            if line["ratio"] is None
            else f"{line['ratio']:,.2f}"
            if line["ratio"] < 10
            else f"{line['ratio']:,.0f}"
        )
        met = {True: "yes", False: "[red]no[/red]", None: ""}[line["met"]]
        table.add_row(line["what"], line["ours"], line["alternative"], ratio, line["target"], met)
    return table


if __name__ == "__main__":
    sys.exit(main())
