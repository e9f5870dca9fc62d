"""What studies, trials and recommendations share when a prompt or a notebook shows them."""

from collections.abc import Iterable, Sequence
from html import escape

from driftopt.report import formats
from driftopt.report.numbers import significant
from driftopt.report.table import Row, Table, cells

_SHOWN = 6  # coordinates on one line


def number(value: float) -> str:
    """A value or a coordinate, with the digits that people read."""
    return significant(value, 6)


def decision(names: Sequence[str], x: Iterable[float]) -> str:
    """A decision on one line; of a long one, the beginning.

    >>> decision(["tea", "oil"], [2.5, -1.0])
    'tea 2.5, oil −1'
    """
    parts = [f"{name} {number(value)}" for name, value in zip(names, x, strict=True)]
    more = [f"and {len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else []
    return ", ".join(parts[:_SHOWN] + more)


def html(caption: str, lines: Iterable[tuple[str, str]], note: str = "") -> str:
    """Two columns, what and how much, with a note below."""
    table = formats.html(Table(caption, ("", ""), [Row(label, cells([text])) for label, text in lines]))
    return table + (f"<p>{escape(note)}</p>" if note else "")
