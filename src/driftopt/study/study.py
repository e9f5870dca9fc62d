"""`Study`: ask and tell over days, through a database, with nothing lost."""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from driftopt import checks
from driftopt.stationarity import Stationarity
from driftopt.study import extras, telling
from driftopt.study.design import design
from driftopt.study.desk import Desk
from driftopt.study.errors import NothingToAsk
from driftopt.study.export import export
from driftopt.study.recommendation import Recommendation, recommend
from driftopt.study.schema import trials
from driftopt.study.spec import Spec, vector_from_json
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
        self._desk = Desk(store, study_id, spec, clock)
        self._lock = threading.RLock()

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        name: str,
        *,
        x0: Any,
        budget: int,
        radius: float | None = None,
        names: Sequence[str] | None = None,
        method: str | None = None,
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
            radius: how far a deployed decision may stray from the present one, as in `minimize`; the same as
                params={"radius": …}.
            names: a name for each coordinate of x0.
            method: a name from `driftopt.methods.names()`, with its `params`. If none is given: "auto", which
                needs only a radius; with `parallel` or `max_change`, "zo-o2nc-2pt".
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
        if radius is not None:
            if "radius" in (params or {}):
                raise ValueError("give radius once: as the argument or in params")
            params = {**(params or {}), "radius": radius}
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
                return self._desk.ask_method(owner)
            return self._desk.ask_extra(purpose, owner)

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

    # Telling

    def tell(self, id: int, value: Any, sem: Any = None, x_deployed: Any = None) -> str:
        """Answer a trial; returns the state it is in then.

        The same answer again is a no-op; another answer raises Conflict and changes nothing. NaN and
        infinity are failures. A value measured at `x_deployed`, far from the asked point, is kept on record
        and the point is asked again.
        """

        number = int(checks.count("id", id))

        def work(connection: sa.Connection) -> str:
            trial = telling.find(connection, self._id, number)
            answer = telling.value_answer(self.spec, vector_from_json(trial.x), value, sem, x_deployed)
            return telling.record(connection, trial, answer, self._clock())

        return self._store.write(self._id, work)

    def fail(self, id: int, reason: str = "") -> str:
        """The deployment gave no answer; its point will be asked again."""

        number = int(checks.count("id", id))

        def work(connection: sa.Connection) -> str:
            answer = telling.Answer("failed", reason=str(reason) or "no reason given")
            trial = telling.find(connection, self._id, number)
            return telling.record(connection, trial, answer, self._clock())

        return self._store.write(self._id, work)

    # Looking

    def trials(
        self, state: str | None = None, kind: str | None = None, holder: str | None = None
    ) -> list[Trial]:
        """The deployments so far, in the order asked: those still out to a holder that died, say."""
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
            x = self._desk.follow().recommendation()
            return recommend(self.spec, x, self._desk.ledger.closed, self._desk.ledger.spent, others)

    def summary(self) -> Summary:
        """Where the study stands: budget, states, who holds what, drift of the world."""
        with self._lock:
            every = self._store.read(self._synced())
            return summarize(self.name, self.spec, self._desk.ledger, every)

    def stationarity(
        self, confidence: float = 0.95, value_range: tuple[float, float] | None = None
    ) -> Stationarity:
        """How stationary the present recommendation is, from the pairs told with purpose "stationarity".

        Args:
            confidence: the level of the bound.
            value_range: (low, high), which no value can leave. The level then holds for every law of the
                values, rare events too, and however often one looks; see `driftopt.stationarity.measure`.
        """
        with self._lock:
            told = self._store.read(self._synced(trials.c.kind == "stationarity"))
            return extras.stationarity(self.spec, self._desk.ledger.closed, told, confidence, value_range)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write every trial to a .csv, .json or .parquet file."""
        return export(path, self.name, self.spec, self.trials())

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw values, decisions and control over time."""
        from driftopt.study.plot import plot

        return plot(path, self.name, self.spec, self.trials(), self.recommend().x)

    def page(self) -> Any:
        """The study on one page, to be printed by rich."""
        from driftopt.study.page import page

        return page(self.spec, self.summary(), self.recommend(), self._clock())

    def _synced(self, *where: Any) -> Callable[[sa.Connection], list[Trial]]:
        def work(connection: sa.Connection) -> list[Trial]:
            self._desk.ledger.sync(connection)
            return load(connection, self._id, self.spec, where)

        return work
