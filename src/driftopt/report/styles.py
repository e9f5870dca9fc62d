"""The style of each method's curve: a colour, a dash and a marker, which distinguish 24 curves.

The eight colours are Okabe and Ito's, a little darker where theirs fade on white; readers with any colour
vision can distinguish them. The next eight methods have the same colours dashed, the next eight dotted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#d98e00", "#3fa2dc", "#8f8f8f", "#8c6d31")
DASHES = ("", "6 3", "1.5 3")  # as SVG writes them: drawn, left out
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # matplotlib's names


@dataclass(frozen=True)
class Style:
    """A colour, a dash pattern in points (empty for a solid line) and a marker."""

    colour: str
    dash: str = ""
    marker: str = "o"

    @property
    def dashes(self) -> tuple[float, ...]:
        """The pattern as numbers."""
        return tuple(float(word) for word in self.dash.split())


STYLES = tuple(
    Style(colour, dash, MARKERS[(k + shift) % len(MARKERS)])
    for shift, dash in enumerate(DASHES)
    for k, colour in enumerate(COLOURS)
)


def assign(methods: Sequence[str], fixed: Mapping[str, Style] | None = None) -> dict[str, Style]:
    """A style for each method: its fixed one, or the next free one; up to 24 methods have different styles.

    >>> styles = assign(["mine", "zo-og"], {"zo-og": STYLES[0]})
    >>> styles["zo-og"] == STYLES[0], styles["mine"] == STYLES[1]
    (True, True)
    """
    chosen = {method: style for method, style in (fixed or {}).items() if method in methods}
    free = [style for style in STYLES if style not in chosen.values()]
    others = [method for method in methods if method not in chosen]
    given = {method: (free or STYLES)[k % len(free or STYLES)] for k, method in enumerate(others)}
    return {method: chosen.get(method) or given[method] for method in methods}
