"""Objectives: how the value follows from the outputs that are observed, where that is known."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

ACROSS = 0.5  # of its own slope, the usual slope of an output in other coordinates: buyers change products


class Own(NamedTuple):
    """A coordinate on which an output mainly depends, and the slopes that are thinkable beforehand."""

    coordinate: int
    start: tuple[float, ...]
    slope: float  # of y in its coordinate, its usual size; in every other one ACROSS of it

    @property
    def tilt(self) -> np.ndarray:
        """(d,), the standard deviations of the slopes."""
        tilt = np.full(len(self.start), ACROSS * self.slope)
        tilt[self.coordinate] = self.slope
        return tilt


class Objective(Protocol):
    """The value of decisions with outputs."""

    def __call__(self, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Decisions (…, d) and outputs (…, o) → values (…,)."""
        ...

    def own(self, output: int, start: np.ndarray) -> Own | None:
        """The coordinate on which an output mainly depends, with the slope that makes the start the best.

        None if there is no such coordinate.
        """
        ...


@dataclass(frozen=True)
class Margin:
    """Σ (x_i − cost_i) · output_i − fixed: the profit from the units sold of each product at prices x.

    >>> float(Margin((1.0, 2.0), fixed=5.0)(np.array([3.0, 4.0]), np.array([10.0, 20.0])))
    55.0
    """

    cost: tuple[float, ...]
    fixed: float = 0.0

    def __call__(self, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return ((x - np.array(self.cost)) * outputs).sum(axis=-1) - self.fixed

    def own(self, output: int, start: np.ndarray) -> Own | None:
        margin = max(start[output] - self.cost[output], start[output] / 10)
        return Own(output, tuple(start.tolist()), float(-1 / margin))


@dataclass(frozen=True)
class Weighted:
    """Σ weight_i · output_i; with weights of 1, the sum."""

    weights: tuple[float, ...]

    def __call__(self, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return (np.array(self.weights) * outputs).sum(axis=-1)

    def own(self, output: int, start: np.ndarray) -> Own | None:
        return None
