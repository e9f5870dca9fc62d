"""The paper's Table 1 as data: published query complexities, and what they come to at given numbers."""

from dataclasses import dataclass
from typing import Any

from driftopt import checks
from driftopt.theory.arithmetic import dimension, exact, table

SETTINGS = {
    "nonsmooth": "a (δ, ε)-Goldstein stationary point",
    "smooth": "an ε-stationary point, smooth",
    "hessian": "an ε-stationary point, Hessian-Lipschitz",
}

Powers = tuple[float, float, float]


@dataclass(frozen=True)
class Complexity:
    """A line of the paper's Table 1: queries ∝ d^a δ^−b ε^−c, as (a, b, c); None: nothing published."""

    source: str  # the publication or method
    feedback: str  # queries an iteration
    nonsmooth: Powers | None  # for a Lipschitz f
    smooth: Powers | None  # where the gradient is Lipschitz too
    hessian: Powers | None  # where the Hessian is Lipschitz too
    note: str = ""  # the factors that the powers leave out

    def order(self, setting: str, *, dim: float, epsilon: float, delta: float) -> float | None:
        """d^a δ^−b ε^−c without the constants that the O(·) hides; None where nothing is published."""
        powers = getattr(self, checks.choice("setting", setting, SETTINGS))
        return None if powers is None else dim ** powers[0] * delta ** -powers[1] * epsilon ** -powers[2]


COMPLEXITIES = (
    Complexity("liu2024twotimescale", "1", None, (2, 0, 6), None, "bounded values; logarithms left out"),
    Complexity("hikima2025nonconvexdd", "1", None, (4.5, 0, 6), None),
    Complexity("hikima2025guided", "2", None, (4, 0, 6), None),
    Complexity("hikima2025zeroth, coordinates", "2d", None, (3, 0, 6), (3, 0, 5)),
    Complexity("hikima2025zeroth, mini-batch", "2N", (2.5, 3, 4), (2, 0, 6), (2, 0, 5), "N of order d²ε⁻⁴"),
    Complexity("ZO-O2NC, Option I", "2", (2, 3, 3), (2, 0, 6), (2, 0, 4.5)),
    Complexity("ZO-O2NC, Option II", "1", (2, 3, 3), (2, 0, 6), (2, 0, 4.5)),
)


@dataclass(frozen=True)
class ComplexityTable:
    """Table 1 with numbers in it; prints as a table."""

    dim: int  # d
    epsilon: float  # ε
    delta: float  # δ

    def rows(self) -> list[dict[str, Any]]:
        """One dict a line: source, feedback, the three orders (None: nothing published), note."""
        at = {"dim": self.dim, "epsilon": self.epsilon, "delta": self.delta}
        return [
            {
                "source": c.source,
                "feedback": c.feedback,
                **{s: c.order(s, **at) for s in SETTINGS},
                "note": c.note,
            }
            for c in COMPLEXITIES
        ]

    def __str__(self) -> str:
        head = f"Published query counts at d = {self.dim}, δ = {self.delta:g}, ε = {self.epsilon:g}"
        foot = "Orders without the constants that O(·) hides: compare lines, do not read them as counts."
        cells = [("source", "queries/iteration", *SETTINGS, "note")]
        for row in self.rows():
            orders = ["–" if row[s] is None else f"{row[s]:.2e}" for s in SETTINGS]
            cells.append((row["source"], row["feedback"], *orders, row["note"]))
        return "\n".join([head, "", table(cells), "", foot])


def compare(dim: int, epsilon: Any, delta: Any) -> ComplexityTable:
    """The published complexities of Table 1 at these numbers: orders without constants.

    Args:
        dim: the number of coordinates.
        epsilon: ε, how small the gradient shall be.
        delta: δ, how far around a point gradients may be averaged.
    """
    number = dimension(dim)
    return ComplexityTable(number, float(exact("epsilon", epsilon)), float(exact("delta", delta)))
