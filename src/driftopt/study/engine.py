"""The method's state as the replay of the log: the one part of a study that needs JAX."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import jax
import numpy as np

from driftopt import methods
from driftopt.host import Host
from driftopt.method import Method
from driftopt.study.ledger import Step
from driftopt.study.spec import Spec

# Iterations number below 2³¹, so this never meets a key that `noise` derives.
_REDRAW = np.uint32(2**32 - 1)
_CHUNK = 4096


class Engine(Host):
    """A `Host` that follows the ledger's steps, each exactly once."""

    def __init__(self, spec: Spec):
        super().__init__(methods.get(spec.method, **spec.params), spec.start, spec.seed)
        self._spec = spec
        self.taken = 0
        self.before: np.ndarray | None = None  # the points that the last values told belong to

    def follow(self, steps: Sequence[Step]) -> None:
        """Take the steps that are new since the last time."""
        for redraws, run in groupby(steps[self.taken :], key=lambda step: step is None):
            if redraws:
                for _ in run:
                    self.redraw()
            else:
                self._tell_all(np.stack([step for step in run if step is not None]))
        self.taken = len(steps)

    def _tell_all(self, values: np.ndarray) -> None:
        # Each length of scan costs a compilation, as long as thousands of single tells: one length is enough.
        whole = (len(values) - 1) // _CHUNK * _CHUNK
        for start in range(0, whole, _CHUNK):
            self.replay(values[start : start + _CHUNK])
        for row in values[whole:]:
            self.before = self.points
            self.tell(row)

    def redraw(self) -> None:
        """Other random numbers from here on: the state's key moves, the iterate and the count stay."""
        self.state, self._query = self._redrawn()

    def _redrawn(self) -> tuple[Any, Any]:
        with jax.enable_x64(True):
            state = self.state._replace(key=jax.random.fold_in(self.state.key, _REDRAW))
            return state, _ask(self.method, state)

    def world_points(self) -> np.ndarray:
        """The open iteration's points as the world sees them: inside the bounds."""
        return self._spec.fold(self.points)

    def redrawn_points(self) -> np.ndarray:
        """What `world_points` would be after a redraw; nothing changes until the redraw is in the log."""
        return self._spec.fold(np.asarray(self._redrawn()[1].points))

    def recommendation(self) -> np.ndarray:
        """The decision to report, inside the bounds."""
        return self._spec.fold(self.recommend())


@jax.jit
def _ask(method: Method, state: Any) -> Any:
    return method.ask(state)[1]
