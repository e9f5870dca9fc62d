"""The desk where deployments are handed out: the ledger, the method's state, and the store's write lock."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from driftopt.study import asking, extras, safety, telling
from driftopt.study.errors import ReplayError
from driftopt.study.ledger import Ledger
from driftopt.study.schema import iterations, trials
from driftopt.study.spec import Spec, vector_as_json, vector_from_json
from driftopt.study.store import Store
from driftopt.study.trial import Trial, load

# Built once: SQLAlchemy takes longer to build a statement than to run it.
_POINTS = sa.select(iterations.c.points).where(
    *(iterations.c[name] == sa.bindparam(name) for name in ("study_id", "iteration", "draw"))
)
_OPEN = sa.insert(iterations)
_ASK = sa.insert(trials).returning(trials.c.id)


class Spot(NamedTuple):
    """Which deployment: two trials at the same spot are two tries of the same one."""

    kind: str
    iteration: int
    draw: int
    point: int
    sample: int


class Desk:
    """One process's view of one study. What it remembers is only a cache of the log."""

    def __init__(self, store: Store, study_id: int, spec: Spec, clock: Callable[[], float]):
        self.spec = spec
        self.ledger = Ledger(study_id, spec)
        self._store = store
        self._id = study_id
        self._clock = clock
        self._engine: Any = None

    # The method's own deployments

    def ask_method(self, holder: str) -> Trial:
        """Decide under the lock; compute new points outside it; repeat until a deployment is handed out."""
        ready: tuple[asking.Draw, np.ndarray] | None = None
        while True:

            def work(tx: Connection, ready: Any = ready) -> Trial | asking.Draw | None:
                self.ledger.sync(tx)
                decision = asking.decide(self.spec, self.ledger, self._clock(), self._control_allowed())
                return self._carry_out(tx, decision, ready, holder)

            outcome = self._store.write(self._id, work)
            if isinstance(outcome, Trial):
                return outcome
            if isinstance(outcome, asking.Draw):
                # Others may go on meanwhile; whoever holds the lock next looks again.
                ready = (outcome, self._draw(outcome))

    def _carry_out(
        self, tx: Connection, decision: asking.Decision, ready: Any, holder: str
    ) -> Trial | asking.Draw | None:
        match decision:
            case asking.Expire(id):
                telling.expire(tx, self._id, id, self._clock())
                return None
            case asking.Control():
                spot = Spot("control", self.ledger.closed, 0, self.ledger.spent, 0)
                return self._hand_out(tx, spot, self.spec.start, holder)
            case asking.Give(turn, slot):
                point, sample = turn.place(slot)
                x = self._points(tx, turn.iteration, turn.draw)[point]
                return self._hand_out(tx, Spot("method", turn.iteration, turn.draw, point, sample), x, holder)
            case asking.Draw():
                if ready is None or ready[0] != decision:
                    return decision
                return self._open(tx, decision, ready[1], holder)

    def _control_allowed(self) -> bool:
        """Under `max_change`, only between iterations, and only while the start is within reach."""
        if self.spec.max_change is None:
            return True
        engine, ledger = self._engine, self.ledger
        if engine is None or engine.taken != len(ledger.steps) or ledger.open is not None:
            return False
        return safety.excursion_allowed(self.spec, engine.state.x, self.spec.start)

    def _draw(self, wanted: asking.Draw) -> np.ndarray:
        """The points of an iteration about to be opened or redrawn."""
        engine = self.follow()
        return engine.world_points() if wanted.draw == 0 else engine.redrawn_points()

    def _points(self, tx: Connection, iteration: int, draw: int) -> np.ndarray:
        where = {"study_id": self._id, "iteration": iteration, "draw": draw}
        return vector_from_json(tx.execute(_POINTS, where).scalar_one())

    def _open(self, tx: Connection, wanted: asking.Draw, points: np.ndarray, holder: str) -> Trial:
        now = self._clock()
        if wanted.draw > 0:
            telling.supersede_draw(tx, self._id, wanted.iteration, wanted.draw - 1, now)
        row = {"study_id": self._id, "iteration": wanted.iteration, "draw": wanted.draw, "opened_at": now}
        row |= {"points": vector_as_json(points), "count": len(points), "repeats": self.spec.repeats}
        tx.execute(_OPEN, row)
        return self._hand_out(tx, Spot("method", wanted.iteration, wanted.draw, 0, 0), points[0], holder)

    def _hand_out(self, tx: Connection, spot: Spot, x: np.ndarray, holder: str) -> Trial:
        now = self._clock()
        lease = {"asked_at": now, "expires_at": None if self.spec.lease is None else now + self.spec.lease}
        row: dict[str, Any] = spot._asdict() | {"holder": holder} | lease
        id = tx.execute(_ASK, {"study_id": self._id, "x": vector_as_json(x)} | row).scalar_one()
        return Trial(id=id, x=np.array(x), names=tuple(self.spec.names), **row)

    # Deployments beside the method's own

    def ask_extra(self, purpose: str, holder: str) -> Trial:
        """For the present recommendation; if the study moves on meanwhile, for the next one."""
        while True:
            self._store.read(self.ledger.sync)
            steps = len(self.ledger.steps)
            center: np.ndarray = self.follow().recommendation()

            def work(tx: Connection, steps: int = steps, center: np.ndarray = center) -> Trial | None:
                self.ledger.sync(tx)
                same = len(self.ledger.steps) == steps
                return self._hand_out_extra(tx, purpose, center, holder) if same else None

            outcome = self._store.write(self._id, work)
            if outcome is not None:
                return outcome

    def _hand_out_extra(self, tx: Connection, purpose: str, center: np.ndarray, holder: str) -> Trial:
        now, closed = self._clock(), self.ledger.closed
        asking.pay(self.spec, self.spec.budget - self.ledger.spent, 1, f"a deployment for {purpose}")
        same = (trials.c.kind == purpose, trials.c.iteration == closed)
        slot = extras.next_slot(load(tx, self._id, self.spec, same), self.spec.max_failures, now)
        x = extras.place(self.spec, purpose, center, slot)
        self._check_excursion(tx, purpose, self.spec.start if purpose == "confirm" else center, x)
        if slot.expired is not None:
            telling.expire(tx, self._id, slot.expired, now)
        return self._hand_out(tx, Spot(purpose, closed, 0, slot.point, slot.sample), x, holder)

    def _check_excursion(self, tx: Connection, purpose: str, center: np.ndarray, x: np.ndarray) -> None:
        """Both the way there and the way back must keep `max_change`."""
        limit = self.spec.max_change
        if limit is None:
            return
        c = trials.c
        last = tx.execute(
            sa.select(c.x).where(c.study_id == self._id).order_by(c.id.desc()).limit(1)
        ).scalar()
        far = last is not None and np.linalg.norm(vector_from_json(last) - x) > limit
        spread = extras.spread(self.spec, purpose)
        if far or not safety.excursion_allowed(self.spec, self._engine.state.x, center, spread):
            raise ValueError(f"max_change {limit:g} does not allow a deployment for {purpose} from here")

    # The method's state

    def follow(self) -> Any:
        """The engine, after everything the ledger knows."""
        from driftopt.study.engine import Engine

        first = self._engine is None
        if first:
            self._engine = Engine(self.spec)
        self._engine.follow(self.ledger.steps)
        if first and self._engine.before is not None:
            self._verify(self._engine.before)
        return self._engine

    def _verify(self, replayed: np.ndarray) -> None:
        """The replay must lead to the points that were asked, up to the rounding of other machines.

        Rounding adds up over a long study to far less than the radius; another method is a radius away.
        """
        c = iterations.c
        query = sa.select(c.points).where(c.study_id == self._id, c.iteration == self.ledger.closed - 1)
        query = query.order_by(c.draw.desc()).limit(1)
        asked = vector_from_json(self._store.read(lambda tx: tx.execute(query).scalar_one()))
        away = np.abs(asked - self.spec.space.deploy(replayed)).max()
        if not away <= 1e-3 * self.spec.radius + 1e-9 * float(np.abs(asked).max()):
            raise ReplayError(
                f"replaying {self.ledger.closed} iterations leads {away:.3g} away from the log: "
                "the method is not the one that asked; use the version of driftopt that created the study"
            )
