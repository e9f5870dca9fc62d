"""One process's view of one study: the log, what it tells so far, and the method's state."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from driftopt.study import checkpoint
from driftopt.study.errors import ReplayError
from driftopt.study.log import Asked, Log, Reader, Writer
from driftopt.study.progress import Progress
from driftopt.study.spec import Spec

if TYPE_CHECKING:
    from driftopt.study.method_state import MethodState

T = TypeVar("T")


class Session:
    """What it remembers is only a cache of the log: any other session would decide alike."""

    def __init__(self, log: Log, spec: Spec, clock: Callable[[], float], checkpoints: bool = True):
        self.log = log
        self.spec = spec
        self.clock = clock
        self.progress = Progress(spec, log.begin)
        self.lock = threading.RLock()
        # Trials that are held since the last answers told here, by the trial whose answer has shown it.
        self.doubted: dict[int, list[int]] = {}
        self._points: tuple[tuple[int, int], np.ndarray] | None = None
        self._state: MethodState | None = None
        self._restarts = 0  # of `progress`, when the state was begun
        self._checkpoints = checkpoints and checkpoint.possible(spec)
        self._resumed: Mapping[str, Any] | None = None  # the method's state at a checkpoint
        self._kept_at = 0  # rows of the log that the last checkpoint covers

    def read(self, work: Callable[[Reader], T]) -> T:
        """Look at the log, with `progress` at the same moment."""

        def looked(log: Reader) -> T:
            self.catch_up(log)
            return work(log)

        with self.lock:
            return self.log.read(looked)

    def follow(self) -> None:
        """Bring `progress` to the log's present end."""
        self.read(lambda log: None)

    def catch_up(self, log: Reader) -> None:
        """Take in the rows since the last look; at the first, those since a checkpoint if one fits."""
        if self._checkpoints and self.progress.rows == 0 and (kept := log.checkpoint(checkpoint.EVERY)):
            self._resumed = checkpoint.resume(self.progress, log, kept)
        self.progress.follow(log)

    def is_over(self, log: Reader, asked: Asked) -> bool:
        """Whether the method's iteration that a trial belongs to has all its answers."""
        self.catch_up(log)
        return asked.kind == "method" and asked.iteration < self.progress.closed

    def points(self, log: Reader, iteration: int, draw: int) -> np.ndarray:
        """The decisions of a draw; those of the last one asked for are remembered."""
        if self._points is None or self._points[0] != (iteration, draw):
            found = log.points(iteration, draw)
            assert found is not None, "an iteration that is open has its points in the log"
            self._points = (iteration, draw), found
        return self._points[1]

    def begin_anew(self) -> None:
        """What was read in a transaction that was not committed is not so: the log is read from its begin."""
        self._points = None
        self.progress.begin_anew()

    def write(self, work: Callable[[Writer], T], *, again: bool = False) -> T:
        """Append to the log; what is committed is known here without reading it again."""
        with self.lock:
            result, written = self.log.write(work, again=again)
            self.progress.take(written)
            return result

    def state(self) -> "MethodState":
        """The method's state after all that `progress` knows. This alone needs JAX."""
        from driftopt.runtime.forks import refuse_after_fork

        refuse_after_fork()
        try:
            if self._state is None or self._restarts != self.progress.restarts:
                self._state = self._resume() or self._replay(self.progress)
                self._restarts = self.progress.restarts
            self._state.follow(self.progress.steps, self.progress.steps_before)
        except BaseException:
            # Whoever interrupts it leaves it somewhere between two steps: the log is read from its begin.
            self._state = None
            self.begin_anew()
            raise
        if self._checkpoints and self.progress.rows - self._kept_at >= checkpoint.EVERY:
            checkpoint.keep(self.log, self.progress, self._state.as_data())
            self._kept_at = self.progress.rows  # if the database was busy, the next will do
        return self._state

    def _resume(self) -> "MethodState | None":
        """The state of the checkpoint that `progress` was begun with, brought up to date."""
        from driftopt.study.method_state import MethodState

        kept, self._resumed, self._kept_at = self._resumed, None, 0
        if kept is None or not self.progress.steps_before:
            return None
        state = MethodState(self.spec)
        try:
            state.resume(kept)
        except (ValueError, KeyError, TypeError):
            self.progress.begin_anew()
            self.log.read(self.progress.follow)
            return None
        self._kept_at = self.progress.resumed_at
        state.follow(self.progress.steps, self.progress.steps_before)
        # Whoever wrote the checkpoint has compared the points before it.
        if state.before is not None and self.progress.unlike_at < self.progress.opened_at:
            self._verify(self.progress, state.before)
        return state

    def _replay(self, progress: Progress) -> "MethodState":
        """A state from the beginning, checked against the points that were asked."""
        from driftopt.study.method_state import MethodState

        state = MethodState(self.spec)
        state.follow(progress.steps)
        if state.before is not None and progress.unlike_at < progress.opened_at:
            self._verify(progress, state.before)
        elif progress.unlike_at > 0:
            # The last points were asked before an answer was amended: they follow from what stood then.
            rows, _ = self.log.read(lambda log: log.since(self.log.begin))
            self._replay(progress.of(rows[: progress.unlike_at - 1]))
        return state

    def _verify(self, progress: Progress, replayed: np.ndarray) -> None:
        """The replay must lead to the points that were asked, up to the rounding of other machines.

        Rounding adds up over a long study to far less than the radius; another method is a radius away.
        """
        closed = progress.closed
        asked = self.log.read(lambda log: log.points(closed - 1))
        assert asked is not None, "an iteration that is closed was opened"
        space = self.spec.space
        away = max(space.distance(one, other) for one, other in zip(asked, replayed, strict=True))
        farthest = max(space.distance(one, np.zeros(space.dim)) for one in asked)
        # On a grid, a rounding that falls otherwise is a step.
        if not away <= 1e-3 * self.spec.radius + 1e-9 * farthest + space.slack:
            raise ReplayError(
                f"replaying {closed} iterations leads {away:.3g} away from the log: "
                "the method is not the one that asked; use the version of driftopt that created the study"
            )
