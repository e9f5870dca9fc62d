"""The method's state as the replay of the log: the one part of a study that needs JAX."""

import copy
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import jax
import numpy as np

from driftopt import methods
from driftopt.drivers import small_program
from driftopt.drivers.host import Host, with_precision
from driftopt.drivers.traced import is_key
from driftopt.method import Method
from driftopt.study.progress import Step
from driftopt.study.spec import Spec

# Iterations number below 2³¹, so this never meets a key that `noise` derives.
_REDRAW = np.uint32(2**32 - 1)


class MethodState(Host):
    """A `Host` that follows the log's steps, each exactly once."""

    def __init__(self, spec: Spec):
        self._space = spec.space
        self._begun = spec.start if spec.begun is None else np.array(spec.begun)
        methods.entry(spec.method, spec.provider)  # names the package where it is not installed
        self._name, self._params = spec.method, dict(spec.params)
        super().__init__(self._planned(spec.planned(spec.budget)), self._begun, spec.seed)
        self._seed, self._draw = spec.seed, 0  # and how often the open iteration was drawn anew
        self.taken = 0
        self.before: np.ndarray | None = None  # the decisions that the last values told belong to

    def follow(self, steps: Sequence[Step]) -> None:
        """Take the steps that are new since the last time."""
        for kind, run in groupby(steps[self.taken :], key=type):
            if kind is np.ndarray:
                values = np.stack(list(run))  # pyright: ignore[reportCallIssue, reportArgumentType]
                self.replay(values[:-1])
                self._draw = self._draw if len(values) == 1 else 0
                self.before = self.decisions(self._draw, anew=False)
                self.tell(values[-1])
                self._draw = 0
            else:
                for step in run:
                    if step is None:
                        self.redraw()
                        self._draw += 1
                    else:
                        self._plan_for(int(step))  # pyright: ignore[reportArgumentType]
        self.taken = len(steps)

    def _planned(self, budget: int) -> Method:
        planned = methods.get(self._name, **self._params).for_budget(budget)
        return self._space.kept_by(planned)

    def _plan_for(self, budget: int) -> None:
        """Go on from here with a plan for another budget."""
        if "budget" in self._params:
            self._params = self._params | {"budget": budget}
        self.state = self.state  # which the plan before has begun
        with jax.enable_x64(True):
            self.method = with_precision(self._planned(budget), jax.numpy.float64, small_program.place())
        self._asked = None

    def redraw(self) -> None:
        """Other random numbers from here on; the iterate and the count stay."""

        def other(leaf: Any) -> Any:
            return jax.random.fold_in(leaf, _REDRAW) if is_key(leaf) else leaf

        with jax.enable_x64(True):
            self.state = jax.tree.map(other, self.state)  # for a method that draws from its state's key
            self._key = other(self._key)
        self._drawn = self._asked = None

    def decisions(self, draw: int, anew: bool = True) -> np.ndarray:
        """The open iteration's decisions; with draw > 0, what they would be after one more redraw.

        Nothing changes until the redraw is in the log: not `anew`, it is.
        """
        host = self
        if draw > 0 and anew:
            host = copy.copy(self)
            host.redraw()
        return self._space.deploy(host.points, (self._seed, self.told, draw))

    def recommendation(self) -> np.ndarray:
        """The decision to report."""
        return self._space.report(self.recommend(), self._begun)
