"""One process's view of one study: the log, what it tells so far, and the method's state."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from driftopt.study.errors import DamagedLog, ImpossiblePlace, ReplayError
from driftopt.study.log import Asked, Log, Reader, Writer
from driftopt.study.progress import Progress
from driftopt.study.spec import Spec

if TYPE_CHECKING:
    from driftopt.study.method_state import MethodState

T = TypeVar("T")


class Session:
    """What it remembers is only a cache of the log: any other session would decide alike."""

    def __init__(self, log: Log, spec: Spec, clock: Callable[[], float]):
        self.log = log
        self.spec = spec
        self.clock = clock
        self.progress = Progress(spec, log.begin)
        self.lock = threading.RLock()
        # Trials that are held since the last answers told here, by the trial whose answer has shown it.
        self.doubted: dict[int, list[int]] = {}
        self._points: tuple[tuple[int, int], np.ndarray] | None = None
        self._uncommitted = False  # whether `progress` may know rows of a transaction that came to nothing
        # The method's state, and the restarts of `progress` when it was begun. None while it is computed.
        self._state: tuple[int, MethodState] | None = None

    def read(self, work: Callable[[Reader], T]) -> T:
        """Look at the log, with `progress` at the same moment."""

        def looked(log: Reader) -> T:
            self._forget_uncommitted()
            self.catch_up(log)
            return work(log)

        with self.lock:
            return self.log.read(looked)

    def follow(self) -> None:
        """Bring `progress` to the log's present end."""
        self.read(lambda log: None)

    def catch_up(self, log: Reader) -> None:
        """Take in the rows since the last look."""
        if log.appended:
            self._uncommitted = True
        self.progress.follow(log)

    def is_over(self, log: Reader, asked: Asked) -> bool:
        """Whether the method's iteration that a trial belongs to has all its answers."""
        self.catch_up(log)
        return asked.kind == "method" and asked.iteration < self.progress.closed

    def points(self, log: Reader, iteration: int, draw: int) -> np.ndarray:
        """The decisions of a draw; those of the last one asked for are remembered."""
        if self._points is None or self._points[0] != (iteration, draw):
            found = log.points(iteration, draw)
            if found is None:
                raise DamagedLog(f"the log has no points for iteration {iteration}, draw {draw}")
            self._points = (iteration, draw), found
        return self._points[1]

    def _forget_uncommitted(self) -> None:
        """At the beginning of a transaction: what an earlier one read of its own rows, and then lost."""
        if self._uncommitted:
            self._points = None
            self.progress.begin_anew()
            self._uncommitted = False

    def write(self, work: Callable[[Writer], T], *, again: bool = False) -> T:
        """Append to the log; what is committed is known here without reading it again."""

        def attempt(log: Writer) -> T:
            self._forget_uncommitted()
            return work(log)

        with self.lock:
            try:
                result, written = self.log.write(attempt, again=again)
            except ImpossiblePlace:
                self._uncommitted = True  # whatever led there is forgotten
                raise
            self._uncommitted = False
            self.progress.take(written)
            return result

    def state(self) -> "MethodState":
        """The method's state after all that `progress` knows. This alone needs JAX."""
        from driftopt.runtime.forks import refuse_after_fork

        refuse_after_fork()
        known, self._state = self._state, None  # an interruption leaves none, and the next call replays all
        restarts = self.progress.restarts
        state = known[1] if known is not None and known[0] == restarts else self._replay(self.progress)
        state.follow(self.progress.steps)
        self._state = restarts, state
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
        if asked is None:
            raise DamagedLog(f"the log has no points for iteration {closed - 1}")
        space = self.spec.space
        away = max(space.distance(one, other) for one, other in zip(asked, replayed, strict=True))
        farthest = max(space.distance(one, np.zeros(space.dim)) for one in asked)
        # On a grid, a rounding that falls otherwise is a step.
        if not away <= 1e-3 * self.spec.radius + 1e-9 * farthest + space.slack:
            raise ReplayError(
                f"replaying {closed} iterations leads {away:.3g} away from the log: "
                "the method is not the one that asked; use the version of driftopt that created the study"
            )
