"""The rows of the log folded, as they come, into what `ask` must know. Plain Python: no JAX, no clock."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa

from driftopt.study.errors import Holding
from driftopt.study.schema import events, iterations, trials
from driftopt.study.spec import Spec


def _since(table: sa.Table, query: Any) -> Any:
    """The study's rows of `table` after a given one. Built once: building takes longer than running."""
    after = table.c.id > sa.bindparam("after")
    return query.where(table.c.study_id == sa.bindparam("study"), after).order_by(table.c.id)


_i, _t, _e = iterations.c, trials.c, events.c
_NEW = {
    "iterations": _since(iterations, sa.select(_i.id, _i.iteration, _i.draw, _i.count, _i.repeats)),
    "trials": _since(
        trials,
        sa.select(_t.id, _t.kind, _t.iteration, _t.draw, _t.point, _t.sample, _t.holder, _t.expires_at),
    ),
    "events": _since(
        events,
        sa.select(_e.id, _e.trial_id, _e.kind, _e.value, _t.iteration, _t.draw, _t.point, _t.sample)
        .join_from(events, trials, _e.trial_id == _t.id)
        .where(_t.kind == "method"),
    ),
}

# What happened to the method's state, in order: the (p,) mean values of an iteration, or None for a redraw.
Step = np.ndarray | None


@dataclass
class Round:
    """One draw of one iteration. A slot is one deployment: slot = sample · p + point.

    So the points are asked in turn, and repeats of a point come a round later: a world that drifts
    slowly then biases both sides of a difference alike.
    """

    iteration: int
    draw: int
    count: int  # p
    repeats: int
    values: list[float | None] = field(init=False)
    lost: list[set[int]] = field(init=False)  # for each slot, the trials that failed or expired
    out: dict[int, Holding] = field(init=False, default_factory=dict[int, Holding])
    missing: int = field(init=False)

    def __post_init__(self) -> None:
        self.missing = self.count * self.repeats
        self.values = [None] * self.missing
        self.lost = [set() for _ in self.values]

    def slot(self, point: int, sample: int) -> int:
        return sample * self.count + point

    def place(self, slot: int) -> tuple[int, int]:
        """(point, sample) of a slot."""
        return slot % self.count, slot // self.count

    def free(self) -> list[int]:
        """Slots that need a deployment and have none out."""
        return [s for s, value in enumerate(self.values) if value is None and s not in self.out]

    def samples(self) -> np.ndarray:
        """All values as (samples, p), in the order of the samples, not of arrival."""
        return np.array(self.values, dtype=np.float64).reshape(self.repeats, self.count)


class Ledger:
    """Everything in the log up to the last `sync`."""

    def __init__(self, study_id: int, spec: Spec):
        self._study = study_id
        self._spec = spec
        self._seen = {"iterations": 0, "trials": 0, "events": 0}
        self._rounds: dict[tuple[int, int], Round] = {}
        self.spent = 0
        self.since_control: int | None = None  # deployments since the last control; None before the first
        self.steps: list[Step] = []
        self.closed = 0  # iterations whose values are all in
        self._memory = spec.answers.begin()

    @property
    def open(self) -> Round | None:
        """The draw now being answered, if one is."""
        return next(reversed(self._rounds.values()), None)

    def sync(self, connection: sa.Connection) -> None:
        """Take in the rows added since the last time."""
        self._read_iterations(connection)
        self._read_trials(connection)
        self._read_events(connection)
        self._drain()

    def _new(self, connection: sa.Connection, what: str) -> Any:
        rows = connection.execute(_NEW[what], {"study": self._study, "after": self._seen[what]}).all()
        if rows:
            self._seen[what] = rows[-1][0]
        return rows

    def _read_iterations(self, connection: sa.Connection) -> None:
        for _, iteration, draw, count, repeats in self._new(connection, "iterations"):
            self._rounds[iteration, draw] = Round(iteration, draw, count, repeats)

    def _read_trials(self, connection: sa.Connection) -> None:
        for id, kind, iteration, draw, point, sample, holder, expires_at in self._new(connection, "trials"):
            self.spent += 1
            if kind == "control":
                self.since_control = 0
            elif self.since_control is not None:
                self.since_control += 1
            if kind == "method":
                turn = self._rounds[iteration, draw]
                turn.out[turn.slot(point, sample)] = Holding(id, holder, expires_at)

    def _read_events(self, connection: sa.Connection) -> None:
        for _, trial, kind, value, iteration, draw, point, sample in self._new(connection, "events"):
            turn = self._rounds.get((iteration, draw))
            if turn is None:
                continue  # an iteration that is over: nothing said about it changes the state
            slot = turn.slot(point, sample)
            holding = turn.out.get(slot)
            if holding is not None and holding.id == trial:
                del turn.out[slot]
            if kind == "complete" and turn.values[slot] is None:
                turn.values[slot] = value
                turn.missing -= 1
            elif kind in ("failed", "expired"):
                # By trial, not by who holds the slot now: a process that reads the log at once, late, must
                # count what one that watched it counted, and a trial that expired and then failed is one.
                turn.lost[slot].add(trial)

    def _drain(self) -> None:
        """Rounds that are over become steps of the method's state."""
        for key in list(self._rounds):
            turn = self._rounds[key]
            if (turn.iteration, turn.draw + 1) in self._rounds:
                self.steps.append(None)
            elif turn.missing == 0:
                self._memory, values = self._spec.answers.take(self._memory, turn.samples())
                self.steps.append(values)
                self.closed += 1
            else:
                return
            del self._rounds[key]
