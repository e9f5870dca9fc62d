"""One line of the table that `make bench` prints."""

from typing import Any


class WrongResult(AssertionError):
    """A timed run gave a wrong answer: its speed is not reported."""


def check(holds: Any, what: str) -> None:
    """Refuse to report a fast wrong result."""
    if not holds:
        raise WrongResult(what)


def row(
    what: str, ours: str, alternative: str, ratio: float | None, target: str, met: bool | None
) -> dict[str, Any]:
    """`met` is None where the machine differs from the one a target was set on, so that it says nothing."""
    return {
        "what": what,
        "ours": ours,
        "alternative": alternative,
        "ratio": ratio,
        "target": target,
        "met": met,
    }
