"""The source of a problem's numbers, carried along so that every output can name it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Provenance:
    """The source of a data set, and which instance of it this is.

    Only `source` counts in comparisons: four splits of one source are the same kind of problem and stack
    into one compiled program, while real data never stacks with a stand-in.

    >>> Provenance("credit", "split 101") == Provenance("credit", "split 102")
    True
    >>> print(Provenance("credit (stand-in)", "split 101"))
    credit (stand-in), split 101
    """

    source: str
    detail: str = field(default="", compare=False, repr=False)  # which instance of the source

    @property
    def stand_in(self) -> bool:
        """True if the numbers were generated in place of real data."""
        return "stand-in" in self.source

    def __str__(self) -> str:
        return f"{self.source}, {self.detail}" if self.detail else self.source
