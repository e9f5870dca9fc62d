"""The contract of outside optimisers: a world that gives values, and a method that runs the search there.

    search = CMA(radius=0.5)         # its own few numbers, checked
    search.run(world)                # asks until the world's budget is spent
    world.recommend()                # the decision that it would deploy

A run is judged at the optimiser's own recommendation. An optimiser that can only report the best value it has
seen sets `luckiest`, for under noise that is its luckiest draw.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from driftopt import checks
from driftopt.packages import MissingPackage, installed_version

EXTRA = "peers"  # the extra of driftopt that installs all of these libraries

Oracle = Callable[[np.ndarray], np.ndarray]  # points (n, d) → a fresh value at each


class Spent(Exception):
    """The budget does not pay for these points; a search need not catch it."""


class Diverged(Exception):
    """A value was not finite; a search need not catch it."""


class World:
    """One run as an outside optimiser sees it: a start, perhaps a box, and noisy values until they are spent.

    The optimiser replaces `recommend`; until it does, it returns the luckiest draw so far.

    Args:
        oracle: gives a fresh value at each row of its argument.
        x0: the start.
        points: the number of points that may be asked for; the value of each is the mean of `batch` values.
        seed: for the optimiser's own randomness.
        sides: lower and upper bounds, infinite for an open side; None without bounds.
        batch: values averaged at each point.
        marks: counts of points, in order, after which the recommendation is recorded.
    """

    recommend: Callable[[], Any]

    def __init__(
        self,
        oracle: Oracle,
        x0: np.ndarray,
        *,
        points: int,
        seed: int,
        sides: tuple[np.ndarray, np.ndarray] | None = None,
        batch: int = 1,
        marks: Sequence[int] = (),
    ):
        self.x0, self.sides, self.seed = np.array(x0, float), sides, seed
        self.asked, self.left = 0, points
        self._oracle, self._batch, self._marks = oracle, batch, list(marks)
        self._best, self._luckiest = np.inf, self.x0.copy()
        self._looks: list[np.ndarray] = []
        self._known = (0, self._luckiest)
        self.recommend = lambda: self._luckiest

    def __call__(self, points: Any) -> np.ndarray:
        """A value at each of the points, (n, d) or (d,).

        Raises:
            Spent: fewer points are left.
            Diverged: a value is not finite.
        """
        # A copy, since many change their array in place.
        rows = np.array(points, float).reshape(-1, self.x0.size)
        if len(rows) > self.left:
            raise Spent
        self._look(self.asked + len(rows))  # the search knows all values before these points
        each = self._oracle(np.repeat(rows, self._batch, axis=0)).reshape(len(rows), self._batch)
        values = each.mean(axis=1)
        self.asked, self.left = self.asked + len(rows), self.left - len(rows)
        if not np.isfinite(values).all():
            raise Diverged
        if values.min() < self._best:
            self._best, self._luckiest = float(values.min()), rows[int(values.argmin())]
        return values

    def one(self, point: Any) -> float:
        """The value at one point."""
        return float(self(point)[0])

    @property
    def rng(self) -> np.random.Generator:
        """A generator for the optimiser's own randomness, the same on every call in this run."""
        return np.random.default_rng(self.seed)

    @property
    def seed31(self) -> int:
        """The seed for libraries that take 31 bits and treat 0 as none."""
        return 1 + self.seed % (2**31 - 2)

    def finish(self) -> list[np.ndarray]:
        """The recommendations at all marks, and the last one."""
        self._look(self.asked + self.left + 1)
        return [*self._looks, self._recommended()]

    def _look(self, until: int) -> None:
        """Record the recommendation for every mark below `until`, which no later value influences."""
        while len(self._looks) < len(self._marks) and self._marks[len(self._looks)] < until:
            self._looks.append(self._recommended())

    def _recommended(self) -> np.ndarray:
        if self.asked and self.asked != self._known[0]:  # it may take long, and several marks may share it
            self._known = (self.asked, np.array(self.recommend(), float))
        return self._known[1]


class Outside(ABC):
    """A frozen dataclass whose fields are the optimiser's own few numbers."""

    packages: ClassVar[tuple[str, ...]] = ()  # its imports, on which its results depend
    luckiest: bool = False  # it can only report its luckiest draw
    batch: int  # values averaged at each point it asks for

    @abstractmethod
    def run(self, world: World) -> None:
        """Ask until the budget is spent; let `world.recommend` give the recommendation."""

    def check(self, dim: int, points: int, boxed: bool) -> None:  # noqa: B027, most have nothing to refuse
        """Refuse settings that cannot run, before anything runs.

        Args:
            dim: the length of a decision.
            points: the number of points that the budget pays for.
            boxed: every coordinate has two finite bounds.

        Raises:
            ValueError: the message says what is needed.
        """

    @classmethod
    def require(cls, name: str) -> None:
        """Raise a MissingPackage for a package that is not installed, before anything runs."""
        for package in cls.packages:
            if find_spec(package) is None:
                raise MissingPackage(
                    f"method {name!r} needs {package}: pip install 'driftopt[{EXTRA}]'", name=package
                )


def libraries_of(searches: Iterable[Outside]) -> dict[str, str]:
    """The installed version of each library behind these; runs may differ with another version."""
    packages = sorted({package for one in searches for package in one.packages})
    return {package: installed_version(package) for package in packages}


def spread(radius: float, dim: int) -> float:
    """The standard deviation of a coordinate for which trials are about `radius` away."""
    return float(radius) / dim**0.5


def box(world: World, width: float | None) -> tuple[np.ndarray, np.ndarray]:
    """The box to search: `width` to both sides of the start, within the bounds."""
    reach = np.inf if width is None else width
    low, high = world.sides or (-np.inf, np.inf)
    return np.maximum(low, world.x0 - reach), np.minimum(high, world.x0 + reach)


def check_box(name: str, width: float | None, boxed: bool) -> None:
    """Refuse a search of a box if there is none."""
    if width is None and not boxed:
        raise ValueError(
            f"{name} searches a box: give width=…, how far it reaches to both sides of x0 (or, for a Python "
            "function, finite bounds for every coordinate)"
        )


def whole(name: str, value: Any) -> int:
    """A whole number above 0."""
    return int(checks.shape(name, value))
