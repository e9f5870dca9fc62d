"""Titles and curve styles of the paper's methods, the same in every table, figure and page."""

from collections.abc import Sequence

from driftopt.report.styles import STYLES, Style, assign

TITLES = {
    "zo-co": "ZO-CO",
    "zo-sph": "ZO-SPH",
    "zo-ga": "ZO-GA",
    "zo-og": "ZO-OG",
    "zo-o2nc-2pt": "ZO-O2NC (Option I)",
    "zo-o2nc-1pt": "ZO-O2NC (Option II)",
    "auto": "auto (no tuning)",
}
FRONT = ("zo-o2nc-2pt", "zo-o2nc-1pt")  # the paper's own, drawn before the others
_ORDER = ("zo-o2nc-2pt", "zo-o2nc-1pt", "zo-ga", "auto", "zo-og", "zo-sph", "zo-co")


def title(method: str) -> str:
    """A method's name as the paper prints it."""
    return TITLES.get(method, method)


def styles(methods: Sequence[str]) -> dict[str, Style]:
    """A style for each method, the same on every page."""
    return assign(methods, dict(zip(_ORDER, STYLES, strict=False)))
