"""One process's view of one study: its log, and the state that it says."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from driftopt.packages import needs_jax
from driftopt.study.log import Log, Reader, Writer
from driftopt.study.spec import Spec
from driftopt.study.state import State

if TYPE_CHECKING:
    from driftopt.model import Estimate
    from driftopt.study.model_rule import ModelRule
    from driftopt.study.sequential_rule import SequentialRule

T = TypeVar("T")


class Session:
    """What it remembers is only a cache of the log: any other session would decide alike."""

    def __init__(self, log: Log, spec: Spec, clock: Callable[[], float]):
        self.log = log
        self.spec = spec
        self.clock = clock
        self.lock = threading.RLock()
        self.state = State(spec, log.begin)
        self._model: ModelRule | None = None
        self._sequential: SequentialRule | None = None
        self._uncommitted = False  # whether `state` may know rows of a transaction that came to nothing

    @property
    def model(self) -> "ModelRule":
        """The model, which needs SciPy."""
        if self._model is None:
            from driftopt.study.model_rule import ModelRule

            self._model = ModelRule(self.spec)
        return self._model

    @property
    def sequential(self) -> "SequentialRule":
        """The sequential method, which needs JAX."""
        if self._sequential is None:
            with needs_jax(f"method {self.spec.method!r}"):
                from driftopt.study.sequential_rule import SequentialRule

            self._sequential = SequentialRule(self.spec)
        return self._sequential

    def read(self, work: Callable[[State], T]) -> T:
        """Look at the present state."""

        def looked(log: Reader) -> None:
            self._begin(log)

        with self.lock:
            self.log.read(looked)
            return work(self.state)

    def write(self, work: Callable[[Writer], T], *, again: bool = False) -> T:
        """Append to the log, as the only writer, with `state` at its present end."""

        def attempt(log: Writer) -> T:
            self._begin(log)
            return work(log)

        with self.lock:
            result, written = self.log.write(attempt, again=again)
            self._uncommitted = False
            self.state.take(written)
            return result

    def _begin(self, log: Reader) -> None:
        """At the beginning of a transaction: forget what an earlier one read of its own rows, and lost."""
        if self._uncommitted or not self.state.whole:
            self.state = State(self.spec, self.log.begin)
            self._uncommitted = False
        self.state.follow(log)

    def follow(self, log: Reader) -> None:
        """Take in the rows that this transaction has appended."""
        if log.appended:
            self._uncommitted = True
        self.state.follow(log)

    def recommendation(self, context: Mapping[str, str]) -> "tuple[np.ndarray, Estimate | None]":
        """The recommended decision, and its gain over the start as the model has it."""
        if self.spec.uses_model:
            return self.model.recommend(self.state, context)
        return self.sequential.recommend(self.state, self.clock()), None

    def context(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """A context, checked; where none is given, that of the last trial, else the first categories.

        Raises:
            ValueError: there is no such context or category.
        """
        known = self.spec.contexts
        if given is None:
            last = next(self.state.latest, None)
            return (
                dict(last.context) if last is not None else {name: found[0] for name, found in known.items()}
            )
        if set(given) != set(known):
            wanted = (
                f"it is {', '.join(known)}"
                if known
                else "this study has none: give contexts at the beginning"
            )
            raise ValueError(f"context has {', '.join(map(str, given)) or 'nothing'}; {wanted}")
        for name, category in given.items():
            if category not in known[name]:
                raise ValueError(f"context {name} must be one of {', '.join(known[name])}; got {category!r}")
        return {name: given[name] for name in known}


def checked_again(session: Session) -> int:
    """Read the whole log from its beginning and replay it; returns the number of rows."""
    fresh = Session(session.log, session.spec, session.clock)
    state = fresh.read(lambda state: state)
    session.log.database.check()
    if not session.spec.uses_model:
        fresh.sequential.verify(state, session.clock())
    return state.seen.rows
