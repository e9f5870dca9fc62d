"""Tables as data: built once, written as Markdown, LaTeX, HTML or plain text by `formats`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# A mark of cells that are better or worse than the paper's figure by more than its spread.
Mark = Literal["", "better", "worse"]


@dataclass(frozen=True)
class Cell:
    """One cell; `best` is printed in bold."""

    text: str
    best: bool = False
    mark: Mark = ""


@dataclass(frozen=True)
class Row:
    """A label and its cells; `under` are smaller rows that belong to it, such as the paper's figures."""

    label: str
    cells: Sequence[Cell]
    under: Sequence["Row"] = ()

    def lines(self) -> "list[Row]":
        """This row and those under it, one after the other."""
        return [self, *(line for row in self.under for line in row.lines())]


@dataclass(frozen=True)
class Table:
    """A caption, the columns' heads (that of the labels first), rows, and a note below.

    `words` are the positions of columns that hold words and are set to the left; the labels always are.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    words: Sequence[int] = (0,)


def cells(texts: Sequence[str]) -> list[Cell]:
    """Plain cells."""
    return [Cell(text) for text in texts]
