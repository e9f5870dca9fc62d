"""`driftopt methods`: every method with its oracle, its goal, its parameters and its package."""

import json as encoder
from itertools import groupby
from typing import Any

from driftopt.cli.arguments import Flag


def methods(name: str | None = None, /, *, json: Flag = False) -> None:
    """List the methods, or describe one of them.

    The list is sorted by what methods see of a query and what they find; most see only noisy values. Below
    each method are its parameters; `driftopt methods NAME` explains them and gives their defaults.

    ```text
    driftopt methods
    driftopt methods auto
    driftopt methods --json
    ```

    Args:
        name: one method, with its parameters, their defaults and meanings.
        json: print everything as JSON.
    """
    from driftopt.methods import registry

    chosen = registry.names() if name is None else (name,)
    if json:
        described = [_as_data(one) for one in chosen]
        print(encoder.dumps(described if name is None else described[0], ensure_ascii=False, default=str))
    elif name is None:
        _print_all()
    else:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        from driftopt.plugins import brought_by

        line, console = registry.entry(name), Console(highlight=False)
        console.print(f"[bold]{name}[/bold]: {line.summary}", soft_wrap=True)
        console.print(f"sees {line.sees_words}; finds {_a(line.finds)}; {brought_by(line.provider)}\n")
        table = Table("parameter", "default", "meaning", box=None, pad_edge=False)
        for one in line.described():
            table.add_row(one.name, "needed" if one.required else Text(str(one.default)), Text(one.meaning))
        console.print(table)


def _as_data(name: str) -> dict[str, Any]:
    """One method as JSON data."""
    from driftopt.methods.registry import entry

    line = entry(name)
    parameters = [
        {"name": one.name, "meaning": one.meaning}
        | ({"required": True} if one.required else {"default": one.default})
        for one in line.described()
    ]
    facts = {
        "name": name,
        "summary": line.summary,
        "sees": line.sees and line.sees.words,
        "finds": line.finds,
    }
    return facts | {"package": line.provider, "parameters": parameters}


def _print_all() -> None:
    """Print a section for each kind of oracle, in two columns that fit on a narrow terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from driftopt.methods.registry import entry, names
    from driftopt.plugins import OWN, brought_by

    console = Console(highlight=False)
    width = max(map(len, names()))

    def kind(name: str) -> tuple[str, str]:
        return entry(name).sees_words, entry(name).finds

    order = list(dict.fromkeys(map(kind, names())))  # as they first appear
    for (sees, finds), group in groupby(sorted(names(), key=lambda one: order.index(kind(one))), key=kind):
        console.print(f"[bold]sees {sees}; finds {_a(finds)}[/bold]")
        table = Table(box=None, show_header=False, padding=(0, 0, 0, 2))
        table.add_column(no_wrap=True, min_width=width + 2)  # names must not break
        table.add_column()
        for name in group:
            line = entry(name)
            brought = "" if line.provider == OWN else f" ({brought_by(line.provider)})"
            about = Text(f"{line.summary}{brought}\n")
            table.add_row(name, about.append(", ".join(line.parameters), style="dim"))
        console.print(table)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
