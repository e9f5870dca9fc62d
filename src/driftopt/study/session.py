"""One process's view of one study: its log, and the state that it says."""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from driftopt.study.log import Log, Reader, Writer
from driftopt.study.records import StudySpec
from driftopt.study.state import State
from driftopt.study.trial import Status

if TYPE_CHECKING:
    from driftopt.model import Estimate
    from driftopt.study.model_rule import ModelRule
    from driftopt.study.sequential_rule import SequentialRule

T = TypeVar("T")


class Session:
    """What it remembers is only a cache of the log: any other session would decide alike."""

    def __init__(self, log: Log, name: str, spec: StudySpec, clock: Callable[[], float]):
        self.name = name
        self.spec = spec
        self.clock = clock
        self.log = log
        self.state = State(spec, log.begin)
        self._writer: Writer | None = None  # of the transaction that is open
        self.lock = threading.RLock()
        self._rule: ModelRule | SequentialRule | None = None
        self._uncommitted = False  # whether `state` may know rows of a transaction that came to nothing

    @property
    def rule(self) -> "ModelRule | SequentialRule":
        """What decides: the model, which needs SciPy, or a sequential method, which needs JAX."""
        if self._rule is None:
            if self.spec.uses_model:
                from driftopt.study.model_rule import ModelRule

                self._rule = ModelRule(self.spec)
            else:
                from driftopt.study.sequential_rule import SequentialRule

                self._rule = SequentialRule(self.spec)
        return self._rule

    def read(self, work: Callable[[], T]) -> T:
        """Look at the present state."""
        with self.lock:
            self.log.read(self._begin)
            return work()

    def write(self, work: Callable[[], T], *, again: bool = False) -> T:
        """Append to the log, as the only writer, with `state` at its present end."""

        def attempt(log: Writer) -> T:
            self._begin(log)
            self._writer = log
            return work()

        with self.lock:
            try:
                result, written = self.log.write(attempt, again=again)
            finally:
                self._writer = None
            self._uncommitted = False
            self.state.take(written)
            return result

    def _begin(self, log: Reader) -> None:
        """At the beginning of a transaction: forget what an earlier one read of its own rows, and lost."""
        if self._uncommitted or not self.state.whole:
            self.state = State(self.spec, self.log.begin)
            self._uncommitted = False
        self.state.follow(log)

    @property
    def label(self) -> str:
        """Where the study is kept; a password is not shown."""
        return self.log.database.label

    @property
    def place(self) -> str:
        """What the shell's commands call the database: a file by its path."""
        return self.label.removeprefix("sqlite:///") or self.label

    def close(self) -> None:
        """Give the connections back."""
        self.log.database.close()

    # In a transaction

    @property
    def writer(self) -> Writer:
        """The log in the transaction that is open."""
        assert self._writer is not None, "only a verb that changes the study may write"
        return self._writer

    @property
    def appended(self) -> int:
        """How many rows this transaction appended so far."""
        return self.writer.appended

    def say(self, trial_id: int | None, kind: str, *, at: float | None = None, **told: Any) -> None:
        """Append that something happened to a trial, or, with None, to the study."""
        told.pop("row", None)  # its number follows from the log
        self.writer.say(trial_id, kind, self.clock() if at is None else at, **told)
        self.follow()

    def follow(self) -> None:
        """Take in the rows that this transaction has appended."""
        if self.appended:
            self._uncommitted = True
        self.state.follow(self.writer)

    # Looking

    def status(self) -> Status:
        """How far the study is."""
        state = self.state
        so_far = (state.budget, state.spent, state.stopped, state.seen.rows, state.halted)
        return Status(self.name, self.log.created_at, *so_far)

    def recommendation(self, context: Mapping[str, str]) -> "tuple[np.ndarray, Estimate | None]":
        """The recommended decision, and its gain over the start as the model has it."""
        return self.rule.recommend(self.state, context, self.clock())

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

    def verify(self) -> int:
        """Read the whole log from its beginning and replay it; returns the number of rows."""
        fresh = Session(self.log, self.name, self.spec, self.clock)
        fresh.read(lambda: None)
        self.log.database.check()
        fresh.rule.verify(fresh.state, self.clock())
        return fresh.state.seen.rows
