"""`Study`: ask and tell over days, through a database, with nothing lost."""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from driftopt import checks
from driftopt.study import asking, extras, safety, telling
from driftopt.study.design import design
from driftopt.study.errors import NothingToAsk, ReplayError
from driftopt.study.ledger import Ledger
from driftopt.study.recommendation import Recommendation, recommend
from driftopt.study.schema import iterations, trials
from driftopt.study.spec import Spec, vector_as_json, vector_from_json
from driftopt.study.store import Store
from driftopt.study.summary import Summary, summarize
from driftopt.study.trial import KINDS, STATES, Trial, load

DAY = 86400.0


class Study:
    """A live optimisation whose whole memory is the database.

    Any number of processes may hold the same study; the object may be dropped at any moment.
    """

    def __init__(self, store: Store, study_id: int, name: str, spec: Spec, clock: Callable[[], float]):
        self.name = name
        self.spec = spec
        self._store = store
        self._id = study_id
        self._clock = clock
        self._ledger = Ledger(study_id, spec)
        self._engine: Any = None
        self._lock = threading.RLock()

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        name: str,
        *,
        x0: Any,
        budget: int,
        names: Sequence[str] | None = None,
        method: str = "zo-o2nc-2pt",
        params: Mapping[str, Any] | None = None,
        bounds: Any = None,
        direction: str = "minimize",
        rng: Any = None,
        parallel: int = 1,
        lease: float | None = 7 * DAY,
        max_failures: int = 3,
        tolerance: float | None = None,
        max_change: float | None = None,
        control_every: int | None = None,
        reserve: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> "Study":
        """Begin a study.

        Args:
            url: a database URL (`sqlite:///prices.db`, `postgresql://…`) or the path of an SQLite file.
            name: the study's name in that database.
            x0: the decision in force today, where the study starts.
            budget: how many deployments may be made in all, whatever fails.
            names: a name for each coordinate of x0.
            method: a name from `driftopt.methods.names()`, with its `params`.
            bounds: (low, high) for each coordinate, None for an open side; every asked point keeps them.
            direction: "minimize" or "maximize".
            rng: a seed, or a Generator to draw one from.
            parallel: directions in one iteration, so that as many deployments can run at once.
            lease: seconds after which an unanswered deployment may be handed out again; None: never.
            max_failures: failures at one point after which the iteration is redrawn.
            tolerance: how far `x_deployed` may be from the asked point; a tenth of the radius if not given.
            max_change: the largest distance between two consecutive deployments.
            control_every: deploy x0 again after every so many other deployments, to see the world drift.
            reserve: deployments kept for confirmation and stationarity.
            clock: seconds since the epoch.
        """
        if not isinstance(name, str) or not 0 < len(name) <= 200:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"name must be 1 to 200 characters, got {name!r}")
        spec = design(
            x0=x0,
            names=names,
            method=method,
            params=params,
            budget=budget,
            bounds=bounds,
            direction=direction,
            rng=rng,
            parallel=parallel,
            lease=lease,
            max_failures=max_failures,
            tolerance=tolerance,
            max_change=max_change,
            control_every=control_every,
            reserve=reserve,
        )
        store = Store(url)
        return cls(store, store.add(name, spec.as_json(), clock()), name, spec, clock)

    @classmethod
    def open(
        cls, url: str | os.PathLike[str], name: str, *, clock: Callable[[], float] = time.time
    ) -> "Study":
        """Take up a study that exists."""
        store = Store(url)
        study_id, spec = store.find(name)
        return cls(store, study_id, name, Spec.from_json(spec), clock)

    def close(self) -> None:
        """Give the connections back. Nothing depends on it."""
        self._store.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Asking

    def ask(self, purpose: str = "method", holder: str | None = None) -> Trial:
        """The next deployment, leased to `holder` (this process, unless named).

        purpose: "method" to optimise; "confirm" for the start and the recommendation in turn;
        "stationarity" for pairs of points around the recommendation.
        """
        checks.choice("purpose", purpose, ("method", "confirm", "stationarity"))
        owner = (holder or f"{socket.gethostname()}:{os.getpid()}")[:200]
        with self._lock:
            if purpose == "method":
                return self._ask_method(owner)
            return self._ask_extra(purpose, owner)

    def ask_many(self, k: int, purpose: str = "method", holder: str | None = None) -> list[Trial]:
        """Up to k deployments at once: fewer when fewer can be out together; none is an error."""
        taken: list[Trial] = []
        for _ in range(int(checks.count("k", k))):
            try:
                taken.append(self.ask(purpose, holder))
            except NothingToAsk:
                if not taken:
                    raise
                break
        return taken

    def _ask_method(self, holder: str) -> Trial:
        ready: tuple[asking.Draw, np.ndarray] | None = None
        while True:

            def work(connection: sa.Connection, ready: Any = ready) -> Any:
                self._ledger.sync(connection)
                now = self._clock()
                decision = asking.decide(self.spec, self._ledger, now, self._control_allowed())
                if isinstance(decision, asking.Expire):
                    telling.expire(connection, self._id, decision.id, now)
                    return None
                if isinstance(decision, asking.Control):
                    spot = ("control", self._ledger.closed, 0, self._ledger.spent, 0)
                    return self._hand_out(connection, spot, self.spec.start, holder, now)
                if isinstance(decision, asking.Give):
                    turn = decision.turn
                    point, sample = turn.place(decision.slot)
                    x = self._points(connection, turn.iteration, turn.draw)[point]
                    return self._hand_out(
                        connection, ("method", turn.iteration, turn.draw, point, sample), x, holder, now
                    )
                if ready is None or ready[0] != decision:
                    return decision
                return self._open(connection, decision, ready[1], holder, now)

            outcome = self._store.write(self._id, work)
            if isinstance(outcome, Trial):
                return outcome
            if isinstance(outcome, asking.Draw):
                # Computed without the lock: others may go on meanwhile, and the lock's next holder looks again.
                ready = (outcome, self._draw(outcome))

    def _control_allowed(self) -> bool:
        """Under `max_change`, only between iterations, and only while the start is within reach."""
        if self.spec.max_change is None:
            return True
        engine, ledger = self._engine, self._ledger
        if engine is None or engine.taken != len(ledger.steps) or ledger.open is not None:
            return False
        return safety.excursion_allowed(self.spec, engine.state.x, self.spec.start)

    def _ask_extra(self, purpose: str, holder: str) -> Trial:
        while True:
            self._store.read(self._ledger.sync)
            steps = len(self._ledger.steps)
            engine = self._follow()
            center = engine.recommendation()

            def work(
                connection: sa.Connection, steps: int = steps, center: np.ndarray = center
            ) -> Trial | None:
                self._ledger.sync(connection)
                if len(self._ledger.steps) != steps:
                    return None
                return self._hand_out_extra(connection, purpose, center, holder)

            outcome = self._store.write(self._id, work)
            if outcome is not None:
                return outcome

    def _hand_out_extra(
        self, connection: sa.Connection, purpose: str, center: np.ndarray, holder: str
    ) -> Trial:
        now = self._clock()
        asking.pay(self.spec, self.spec.budget - self._ledger.spent, 1, f"a deployment for {purpose}")
        closed = self._ledger.closed
        same = (trials.c.kind == purpose, trials.c.iteration == closed)
        slot = extras.next_slot(load(connection, self._id, self.spec, same), self.spec.max_failures, now)
        x = extras.place(self.spec, purpose, center, slot)
        self._check_excursion(connection, purpose, self.spec.start if purpose == "confirm" else center, x)
        if slot.expired is not None:
            telling.expire(connection, self._id, slot.expired, now)
        return self._hand_out(connection, (purpose, closed, 0, slot.point, slot.sample), x, holder, now)

    def _check_excursion(
        self, connection: sa.Connection, purpose: str, center: np.ndarray, x: np.ndarray
    ) -> None:
        """Both the way there and the way back must keep `max_change`."""
        limit = self.spec.max_change
        if limit is None:
            return
        c = trials.c
        query = sa.select(c.x).where(c.study_id == self._id).order_by(c.id.desc()).limit(1)
        last = connection.execute(query).scalar()
        far = last is not None and np.linalg.norm(vector_from_json(last) - x) > limit
        spread = extras.spread(self.spec, purpose)
        if far or not safety.excursion_allowed(self.spec, self._engine.state.x, center, spread):
            raise ValueError(f"max_change {limit:g} does not allow a deployment for {purpose} from here")

    def _draw(self, wanted: asking.Draw) -> np.ndarray:
        """The points of an iteration about to be opened or redrawn."""
        engine = self._follow()
        return engine.world_points() if wanted.draw == 0 else engine.redrawn_points()

    def _follow(self) -> Any:
        """The method's state after everything the ledger knows."""
        from driftopt.study.engine import Engine

        first = self._engine is None
        if first:
            self._engine = Engine(self.spec)
        self._engine.follow(self._ledger.steps)
        if first and self._ledger.closed:
            self._verify(self._engine.before)
        return self._engine

    def _verify(self, replayed: np.ndarray) -> None:
        """The replay must lead to the points that were asked, up to rounding of other machines and versions."""
        c = iterations.c
        query = sa.select(c.points).where(c.study_id == self._id, c.iteration == self._ledger.closed - 1)
        asked = self._store.read(lambda tx: tx.execute(query.order_by(c.draw.desc()).limit(1)).scalar_one())
        away = np.abs(vector_from_json(asked) - self.spec.fold(replayed)).max()
        if not away <= 1e-6 * max(self.spec.radius, float(np.abs(replayed).max())):
            raise ReplayError(
                f"replaying {self._ledger.closed} iterations leads {away:.3g} away from the points in the log: "
                "this version's method differs from the one that asked; use the version that created the study"
            )

    def _points(self, connection: sa.Connection, iteration: int, draw: int) -> np.ndarray:
        c = iterations.c
        where = (c.study_id == self._id, c.iteration == iteration, c.draw == draw)
        return vector_from_json(connection.execute(sa.select(c.points).where(*where)).scalar_one())

    def _open(
        self, connection: sa.Connection, wanted: asking.Draw, points: np.ndarray, holder: str, now: float
    ) -> Trial:
        if wanted.draw > 0:
            telling.supersede_draw(connection, self._id, wanted.iteration, wanted.draw - 1, now)
        row = {"study_id": self._id, "iteration": wanted.iteration, "draw": wanted.draw, "opened_at": now}
        row |= {"points": vector_as_json(points), "count": len(points), "repeats": self.spec.repeats}
        connection.execute(sa.insert(iterations).values(row))
        return self._hand_out(
            connection, ("method", wanted.iteration, wanted.draw, 0, 0), points[0], holder, now
        )

    def _hand_out(
        self,
        connection: sa.Connection,
        spot: tuple[str, int, int, int, int],
        x: np.ndarray,
        holder: str,
        now: float,
    ) -> Trial:
        kind, iteration, draw, point, sample = spot
        expires = None if self.spec.lease is None else now + self.spec.lease
        row: dict[str, Any] = {
            "kind": kind,
            "iteration": iteration,
            "draw": draw,
            "point": point,
            "sample": sample,
        }
        row |= {"holder": holder, "asked_at": now, "expires_at": expires}
        insert = (
            sa.insert(trials).values(study_id=self._id, x=vector_as_json(x), **row).returning(trials.c.id)
        )
        id = connection.execute(insert).scalar_one()
        return Trial(id=id, x=np.array(x), names=tuple(self.spec.names), **row)

    # Telling

    def tell(self, id: int, value: Any, sem: Any = None, x_deployed: Any = None) -> str:
        """Answer a trial; returns the state it is in then.

        The same answer again is a no-op; another answer raises Conflict and changes nothing. NaN and
        infinity are failures. A value measured at `x_deployed`, far from the asked point, is kept on record
        and the point is asked again.
        """

        def work(connection: sa.Connection) -> str:
            trial = telling.find(connection, self._id, id)
            answer = telling.value_answer(self.spec, vector_from_json(trial.x), value, sem, x_deployed)
            return telling.record(connection, trial, answer, self._clock())

        return self._store.write(self._id, work)

    def fail(self, id: int, reason: str = "") -> str:
        """The deployment gave no answer; its point will be asked again."""

        def work(connection: sa.Connection) -> str:
            answer = telling.Answer("failed", reason=str(reason) or "no reason given")
            return telling.record(connection, telling.find(connection, self._id, id), answer, self._clock())

        return self._store.write(self._id, work)

    # Looking

    def trials(
        self, state: str | None = None, kind: str | None = None, holder: str | None = None
    ) -> list[Trial]:
        """The deployments so far, in the order asked; those out to a holder that died, say, to take up again."""
        where: list[Any] = []
        if kind is not None:
            where.append(trials.c.kind == checks.choice("kind", kind, KINDS))
        if holder is not None:
            where.append(trials.c.holder == holder)
        if state is not None:
            checks.choice("state", state, STATES)
        found = self._store.read(lambda tx: load(tx, self._id, self.spec, where))
        return [trial for trial in found if state in (None, trial.state)]

    def recommend(self) -> Recommendation:
        """The decision to deploy, an iterate or a mean of iterates, with what is known of its improvement."""
        with self._lock:
            others = self._store.read(self._synced(trials.c.kind.in_(("control", "confirm"))))
            x = self._follow().recommendation()
            return recommend(self.spec, x, self._ledger.closed, self._ledger.spent, others)

    def summary(self) -> Summary:
        """Where the study stands: budget, states, who holds what, drift of the world."""
        with self._lock:
            every = self._store.read(self._synced())
            return summarize(self.name, self.spec, self._ledger, every)

    def _synced(self, *where: Any) -> Callable[[sa.Connection], list[Trial]]:
        def work(connection: sa.Connection) -> list[Trial]:
            self._ledger.sync(connection)
            return load(connection, self._id, self.spec, where)

        return work
