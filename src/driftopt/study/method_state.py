"""The method's state as the replay of the log: the one part of a study that needs JAX."""

import copy
from collections.abc import Sequence
from itertools import groupby

import jax
import numpy as np

from driftopt import methods
from driftopt.drivers.host import Host
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
        super().__init__(methods.get(spec.method, **spec.params), self._begun, spec.seed)
        self.taken = 0
        self.before: np.ndarray | None = None  # the points that the last values told belong to

    def follow(self, steps: Sequence[Step]) -> None:
        """Take the steps that are new since the last time."""
        for redraws, run in groupby(steps[self.taken :], key=lambda step: step is None):
            if redraws:
                for _ in run:
                    self.redraw()
            else:
                values = np.stack([step for step in run if step is not None])
                self.replay(values[:-1])
                self.before = self.points
                self.tell(values[-1])
        self.taken = len(steps)

    def redraw(self) -> None:
        """Other random numbers from here on; the iterate and the count stay."""
        within = self.told % self.ahead
        with jax.enable_x64(True):
            self._key = jax.random.fold_in(self._key, _REDRAW)
            # The window of numbers drawn ahead begins where it began.
            self.told -= within
            self._refill()
            self.told += within
            self._run(within, within)

    @property
    def iterate(self) -> np.ndarray:
        """Where the method stands, before any step of the space."""
        return np.asarray(self.state.x)

    def decisions(self, draw: int) -> np.ndarray:
        """The open iteration's decisions; with draw > 0, what they would be after one more redraw.

        Nothing changes until the redraw is in the log.
        """
        host = self
        if draw > 0:
            host = copy.copy(self)
            host.redraw()
        return self._space.deploy(host.points)

    def recommendation(self) -> np.ndarray:
        """The decision to report."""
        return self._space.report(self.recommend(), self._begun)
