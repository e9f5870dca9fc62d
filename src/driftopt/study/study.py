"""`Study`: ask and tell over days, through a database, with nothing lost.

Longer than 300 lines: one class is the door to all that a study does, and most lines say what a door takes.
"""

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.answers.guard import USUAL
from driftopt.runtime.process_name import this_process
from driftopt.stationarity import Stationarity
from driftopt.study import amending, asking, evaluation, telling
from driftopt.study.creation import specify
from driftopt.study.errors import NothingToAsk, StudyError
from driftopt.study.export import export
from driftopt.study.log import Database, Log, Request, Row, as_trial, as_trials
from driftopt.study.metrics import estimates
from driftopt.study.recommendation import Recommendation, recommend
from driftopt.study.remote import Remote
from driftopt.study.service_client import is_address, no_token
from driftopt.study.session import Session
from driftopt.study.spec import Spec
from driftopt.study.status import Status
from driftopt.study.summary import Summary, summarize
from driftopt.study.telling import trial_number
from driftopt.study.trial import KINDS, STATES, Trial
from driftopt.study.watching import LogWatch, Watch

DAY = 86400.0
LONGEST_PLACE = 2000  # characters
_NOT_SAID = ("cls", "url", "name", "clock", "key", "token")  # of `create`: not what the study is


class Study:
    """A live optimisation whose whole memory is the database.

    Any number of processes may hold the same study; the object may be dropped at any moment.
    """

    def __init__(self, log: Log, name: str, spec: Spec, clock: Callable[[], float]):
        self.name = name
        self.spec = spec
        self._log = log
        self._clock = clock
        self._session = Session(log, spec, clock)

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str] | Database,
        name: str,
        *,
        x0: Any,
        budget: int,
        radius: Any = None,
        names: Sequence[str] | None = None,
        method: str | None = None,
        params: Mapping[str, Any] | None = None,
        bounds: Any = None,
        constraints: Any = None,
        grid: Any = None,
        direction: str = "minimize",
        rng: Any = None,
        parallel: int = 1,
        lease: float | None = 7 * DAY,
        max_failures: int = 3,
        tolerance: float | None = None,
        max_change: float | None = None,
        control_every: int | None = None,
        reserve: int = 0,
        settle: int = 1,
        guard: float | None = USUAL,
        covariates: Sequence[str] | None = None,
        limits: Mapping[str, Mapping[str, Any]] | None = None,
        relative_to_control: bool = False,
        clock: Callable[[], float] = time.time,
        key: str | None = None,
        token: str | None = None,
    ) -> "Study":
        """Begin a study.

        Args:
            url: a database URL (`sqlite:///prices.db`, `postgresql://…`), the path of an SQLite file, or the
                address of a server (`https://…`, see `driftopt serve`).
            name: the study's name in that database.
            x0: the decision in force today, where the study starts; or a `Space`.
            budget: how many deployments may be made in all, whatever fails.
            radius: about how far a trial decision should be from the present one, as in `minimize`; the same
                as params={"radius": …}. For "auto" a first guess: params={"max_radius": …} is the promise.
                One for each coordinate makes these the units in which every distance is measured.
            names: a name for each coordinate of x0.
            method: a name from `driftopt.methods.names()`, with its `params`. If none is given: "auto", which
                needs no number at all.
            bounds: (low, high) for each coordinate, None for an open side; every asked point keeps them.
            constraints: scipy's LinearConstraint, a table {"A", "lb", "ub"}, or a list of them, as in
                `minimize`; every asked point keeps them.
            grid: a step for each coordinate or one for all, as in `minimize`: every asked point and the
                recommendation are on it.
            direction: "minimize" or "maximize".
            rng: a seed, or a Generator to draw one from.
            parallel: directions in one iteration, up to 1,000, so that as many deployments can run together.
            lease: seconds after which an unanswered deployment may be handed out again; None: never.
            max_failures: failures at one point after which the iteration is redrawn.
            tolerance: how far `x_deployed` may be from the asked point, beyond half a step of the grid; a
                tenth of the radius if not given.
            max_change: the largest distance between two consecutive deployments. What is farther off is
                gone to in steps (trials of the kind "way"), which the budget counts.
            control_every: deploy x0 first and again after every so many other deployments, to see the world
                drift; 1: every second deployment is x0.
            reserve: deployments kept for confirmation and stationarity. To tell an improvement takes two
                pairs of start and recommendation, so 4, times `settle`; one where values come with a sem.
            settle: hold every decision for so many deployments and use the last one's answer, where people
                react slowly. The budget counts them all, and a trial's `keep` says that nothing changes.
            guard: an answer so many times as far outside of the range of the last 30 as an answer usually is
                from the one before it is held until someone accepts it; None: every answer is believed. The
                first dozen are compared with their median.
            covariates: names of what else is known of each deployment, such as ["footfall", "rain"], told
                with its value. What they explain is taken out of the values before the method sees them. They
                must be things that **the decision cannot move**: `summary` warns of one that moves with it.
            limits: how large or small other metrics may become, {"complaints": {"max": 5}}, told with each
                value; {"max": 5, "hard": True} also halts the study where it is broken twice in a row. A
                metric without a limit, {"calls": {}}, is only watched.
            relative_to_control: values count as differences to control: told with each answer where the
                start's decision is deployed beside, else the last one of `control_every`.
            clock: seconds since the epoch; a server has its own.
            key: a word for this request: the same again gives the study that it made, so that a request whose
                answer was lost may be repeated.
            token: for a server, one of its tokens; the environment's DRIFTOPT_TOKEN unless given.
        """
        given = dict(locals())
        said = {key: value for key, value in given.items() if key not in _NOT_SAID}
        request = None if key is None else Request.of(checks.text("key", key), 0, name, sorted(said.items()))
        name = str(checks.text("name", name))
        if isinstance(url, str) and is_address(url):
            usual = inspect.signature(cls.create).parameters
            other = {key: value for key, value in said.items() if value is not usual[key].default}
            return _RemoteStudy.begin(url, name, token, clock, key, {**other, "x0": x0, "budget": budget})
        no_token(url, token)
        spec = specify(
            x0=x0,
            decisions={"names": names, "bounds": bounds, "constraints": constraints, "grid": grid},
            radius=radius,
            method=method,
            params=params,
            budget=budget,
            direction=direction,
            rng=rng,
            parallel=parallel,
            lease=lease,
            max_failures=max_failures,
            tolerance=tolerance,
            max_change=max_change,
            control_every=control_every,
            reserve=reserve,
            settle=settle,
            guard=guard,
            covariates=covariates,
            limits=limits,
            relative_to_control=relative_to_control,
        )
        log = Log.create(url, name, spec.as_json(), clock(), request)
        return cls(log, name, Spec.from_json(log.spec), clock)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str] | Database,
        name: str,
        *,
        clock: Callable[[], float] = time.time,
        token: str | None = None,
    ) -> "Study":
        """Take up a study that exists.

        Args:
            url: where it is kept, as in `create`: a database, or the address of a server.
            name: the study's name there.
            clock: seconds since the epoch; a server has its own.
            token: for a server, one of its tokens; the environment's DRIFTOPT_TOKEN unless given.
        """
        checks.text("name", name)
        if isinstance(url, str) and is_address(url):
            return _RemoteStudy.connect(url, name, token, clock)
        no_token(url, token)
        log = Log.open(url, name)
        return cls(log, name, Spec.from_json(log.spec), clock)

    @property
    def url(self) -> str:
        """Where the study is kept; a password is not shown."""
        return self._log.database.label

    def close(self) -> None:
        """Give the connections back. Nothing depends on it."""
        self._log.database.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<Study {self.name!r} in {self.url}: {self.spec.method}, {self.spec.direction}, "
            f"{self.spec.dim} coordinates, {self._session.progress.budget} deployments>"
        )

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()  # pyright: ignore[reportPrivateUsage]

    # Asking

    def ask(
        self,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
    ) -> Trial:
        """The next deployment, leased to `holder`.

        Args:
            purpose: "method" to optimise; "confirm" for the start and the recommendation in turn;
                "stationarity" for pairs of points around the recommendation.
            holder: who deploys it. A holder with a name gets the deployment that it has not answered again,
                so that a job may run twice, or die and be run again. Without a name it is this process,
                and every deployment is another one.
            new: hand out another one all the same.
            key: a word for this request: the same again gives the same deployment, answered or not, so that
                a request whose answer was lost may be repeated.
        """
        return self.ask_many(1, purpose, holder, new, key)[0]

    def ask_many(
        self,
        k: int,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
    ) -> list[Trial]:
        """Up to k deployments at once: fewer when fewer can be out together; none is an error.

        The arguments are those of `ask`: first come those that the holder has not answered.
        """
        taken: list[Trial] = []
        for number in range(checks.one_count("k", k)):
            question = self._question(number, k, purpose, holder, new, key)
            try:
                with self._session.lock:
                    taken.append(asking.ask(self._session, *question))
            except NothingToAsk:
                if not taken:
                    raise
                break
        return taken

    def ask_each(self, questions: Sequence[Mapping[str, Any]]) -> list[Trial | Exception]:
        """One deployment for each of several who ask at once, in one transaction where that can be.

        Args:
            questions: the arguments of `ask` for each, {"holder": …} and others.

        Returns:
            for each its trial, or the exception that `ask` would have raised.
        """
        outcomes: dict[int, Trial | Exception] = {}
        waiting: dict[int, asking.Question] = {}
        for index, given in enumerate(questions):
            try:
                waiting[index] = self._question(0, 1, **given)
            except ValueError as error:
                outcomes[index] = error
        with self._session.lock:
            while waiting:
                found = asking.ask_together(self._session, list(waiting.values()))
                done = {index: one for index, one in zip(waiting, found, strict=True) if one is not None}
                if not done:  # the method computes what the first of them gets
                    first = next(iter(waiting))
                    try:
                        done[first] = asking.ask(self._session, *waiting[first])
                    except (StudyError, ValueError) as error:
                        done[first] = error
                outcomes |= done
                waiting = {index: one for index, one in waiting.items() if index not in done}
        return [outcomes[index] for index in range(len(questions))]

    def _question(
        self,
        number: int,
        k: int,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
    ) -> asking.Question:
        """What one of k questions asks, checked."""
        if key is not None:
            checks.text("key", key)
        checks.choice("purpose", purpose, ("method", "confirm", "stationarity"))
        checks.flag("new", new)
        owner = checks.text("holder", this_process() if holder is None else holder)
        held = None if new or not holder else number
        request = None if key is None else Request.of(key, number, k, purpose, holder, new)
        return asking.Question(purpose, owner, held, request)

    # Telling

    def tell(
        self,
        id: int,
        value: Any,
        sem: Any = None,
        x_deployed: Any = None,
        *,
        covariates: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        n: Any = None,
        control: Any = None,
        who: str | None = None,
    ) -> str:
        """Answer a trial; returns the state it is in then.

        Args:
            id: the trial's number.
            value: what was measured.
            sem: its standard error, if known: answers enter with their weight.
            x_deployed: what was really deployed, where it differs.
            covariates: what else is known, by the names given to `create`; one may be missing, or NaN.
            metrics: what else was measured, by the names of `limits`.
            n: how many customers, visits, … the value is a mean of, where its sem is not known.
            control: what the start's decision gave at the same time, in a second store.
            who: who says so, for those who read the log; nobody, unless named.

        The same answer again is a no-op; another answer raises Conflict and changes nothing. NaN and
        infinity are failures. A value that is far from all others, as a lost decimal point makes it, is
        held: it moves nothing and its point is asked again, until `accept` or `correct` says what it is. The
        first answers are judged when a dozen are in. A value measured at `x_deployed`, far from the asked
        point, is kept on record and the point is asked again.
        """
        said = {"value": value, "sem": sem, "x_deployed": x_deployed}
        more = {"covariates": covariates, "metrics": metrics, "n": n, "control": control}
        return telling.tell(self._session, id=id, who=who, **said, **more)

    @property
    def doubted(self) -> tuple[int, ...]:
        """Trials that counted and are held since the last `tell` of this process: the first answers are
        judged when a dozen are in.
        """
        return tuple(id for ids in self._session.doubted.values() for id in ids)

    def doubted_by(self, id: int) -> tuple[int, ...]:
        """Those of `doubted` that are held since the answer to one trial, where several were told at once."""
        return tuple(self._session.doubted.get(id, ()))

    def tell_many(self, answers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Answer several trials in one transaction, all or none; returns the state of each.

        Args:
            answers: the arguments of `tell` for each, {"id": …, "value": …} and others.

        Raises:
            ValueError: one of them cannot be recorded, so none was; the message says which.
        """
        return telling.tell_many(self._session, answers)

    def fail(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """The deployment gave no answer; its point will be asked again.

        Args:
            id: the trial's number.
            reason: why, for those who read the log.
            who: who says so; nobody, unless named.
        """
        return telling.fail(self._session, id, reason, who)

    def correct(
        self,
        id: int,
        value: Any,
        reason: str = "",
        *,
        sem: Any = None,
        who: str | None = None,
        covariates: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        n: Any = None,
        control: Any = None,
    ) -> str:
        """Replace a trial's answer; what was said before stays in its history. Returns its state.

        The study is then, to the bit, one that was told so at once; decisions that were deployed meanwhile
        stay as they were.

        Args:
            id: a trial that was answered, failed, is held or was voided, and whose point no other answered.
            value: what was truly measured.
            reason: why, for those who read the log.
            sem: the value's standard error; left out, the one told stays; NaN: there is none.
            who: who says so; this process, unless named.
            covariates: in the place of those told; left out, those stay. So it is with what follows.
            metrics: what else was measured.
            n: how many the value is a mean of; NaN: it is not known.
            control: what control gave; NaN: it is not known.
        """
        by = this_process() if who is None else who
        more = {"covariates": covariates, "metrics": metrics, "n": n, "control": control}
        return amending.correct(self._session, id, value, sem, reason, by, more)

    def void(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Take a trial's answer back; what was said stays in its history. Returns its state.

        While the iteration is open its point is asked again. Later, the mean at that point is that of its
        other samples; where there are none, the method passes over the iteration.

        Args:
            id: a trial that is complete or held.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        return amending.void(self._session, id, reason, this_process() if who is None else who)

    def accept(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Let an answer count that is held, because it is true; returns the trial's state.

        Args:
            id: a trial that is held, and whose point no other trial answered meanwhile.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        return amending.accept(self._session, id, reason, this_process() if who is None else who)

    def hold(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Hold an answer that counts, because it may not be true; returns the trial's state.

        It moves nothing from now on, as one that was held when it was told; `accept` takes this back.

        Args:
            id: a trial that is complete.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        return amending.hold(self._session, id, reason, this_process() if who is None else who)

    def extend(self, budget: int, reason: str = "", *, who: str | None = None) -> None:
        """Allow more deployments: what was done stays, and a method with a plan goes on to the new end.

        Args:
            budget: how many deployments may be made in all, more than before.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        amending.extend(self._session, budget, reason, this_process() if who is None else who)

    def stop(self, reason: str = "", *, who: str | None = None) -> None:
        """End the study before its budget: `ask` hands out nothing more but evaluations. For ever.

        What is still out may be answered.

        Args:
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        amending.stop(self._session, reason, this_process() if who is None else who)

    def resume(self, reason: str = "", *, who: str | None = None) -> None:
        """Go on with a study that a hard limit has halted; one that goes on is left alone.

        Args:
            reason: why it may go on, for those who read the log.
            who: who says so; this process, unless named.

        Raises:
            ValueError: the study was stopped, which is for ever.
        """
        amending.resume(self._session, reason, this_process() if who is None else who)

    # Looking

    def trials(
        self, state: str | None = None, kind: str | None = None, holder: str | None = None
    ) -> list[Trial]:
        """The deployments so far, in the order asked: those still out to a holder that died, say."""
        wanted = {"state": state, "kind": kind, "holder": holder}
        for name, choices in (("state", STATES), ("kind", KINDS)):
            if wanted[name] is not None:
                checks.choice(name, wanted[name], choices)
        if holder is not None:
            checks.text("holder", holder)
        given = [(name, value) for name, value in wanted.items() if value is not None]
        return [trial for trial in self._trials() if all(getattr(trial, k) == v for k, v in given)]

    def status(self) -> Status:
        """How far the study is: deployments paid for and spent, and rows of its log. Quick, however long."""
        with self._session.lock:
            self._session.follow()
            done = self._session.progress
            so_far = (done.budget, done.spent, done.stopped, done.rows, done.halted)
            return Status(self.name, self._log.created_at, *so_far)

    def check_halted(self) -> None:
        """Raise Halted where a hard limit was broken twice in a row, as the next `ask` would."""
        if (halted := self.status().halted) is not None:
            raise asking.refusal(self.spec, halted)

    def trial(self, id: int) -> Trial:
        """One deployment by its number."""
        number = trial_number(id)
        with self._session.lock:
            known = self._session.read(lambda log: log.trial(number))
            kept = number in self._session.progress.deployed.kept
        return as_trial(known.asked, known.happened, tuple(self.spec.names), kept)

    def watch(self, after: int | None = None) -> Watch:
        """What is new in this study, whoever does it: every `new()` gives what happened since the last.

        Args:
            after: begin after this row of the log, 0 being its beginning; from now on, unless given.
        """
        return LogWatch(self._log, None if after is None else checks.whole("after", after))

    def _trials(self) -> list[Trial]:
        """Every trial, with the session's progress brought to the same moment.

        All rows are read and checked: a damaged index can hide none.
        """
        return as_trials(self._rows(), tuple(self.spec.names))

    def _rows(self) -> list[Row]:
        rows, _ = self._session.read(lambda log: log.since(self._log.begin))
        return rows

    def recommend(self) -> Recommendation:
        """The decision to deploy, an iterate or a mean of iterates, with what is known of its improvement."""
        with self._session.lock:
            self._session.follow()
            x = self._session.state().recommendation()
            progress = self._session.progress
            left, others = progress.budget - progress.spent, progress.confirming
            found = recommend(self.spec, x, progress.closed, progress.spent, left, others)
            if not self.spec.limits:
                return found
            return replace(found, metrics=estimates(self.spec, progress.closed, self._trials()))

    def summary(self, place: str | None = None) -> Summary:
        """Where the study stands: values, drift, who holds what, what failed, and what to do now.

        Args:
            place: how the commands of its advice call the database; `Study.place`, unless given.
        """
        called = self.place if place is None else str(checks.text("place", place, LONGEST_PLACE))
        with self._session.lock:
            trials = self._trials()
            return summarize(self.name, self.spec, self._session.progress, trials, called, self._clock())

    @property
    def place(self) -> str:
        """What the shell's commands call the database: a file by its path."""
        file = self.url.removeprefix("sqlite:///")
        return file or self.url

    def stationarity(
        self, confidence: float = 0.95, value_range: tuple[float, float] | None = None
    ) -> Stationarity:
        """How stationary the present recommendation is, from the pairs told with purpose "stationarity".

        Args:
            confidence: the level of the bound.
            value_range: (low, high), which no value can leave. The level then holds for every law of the
                values, rare events too, and however often one looks; see `driftopt.stationarity.measure`.
        """
        with self._session.lock:
            self._session.follow()
            told, _ = self._session.progress.evaluations("stationarity")
            closed = self._session.progress.closed
            return evaluation.stationarity(self.spec, closed, told, confidence, value_range)

    def verify(self) -> int:
        """Read the whole log anew, check every row, and replay it; returns the number of rows.

        Raises:
            DamagedLog: a row is not what was written, or is missing.
            ReplayError: the replay does not lead to the points that were asked.
        """
        fresh = Session(self._log, self.spec, self._clock)
        fresh.follow()
        self._log.database.check()
        fresh.state()
        return fresh.progress.rows

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write every trial to a .csv, .json or .parquet file.

        The .json file holds the whole log too: `driftopt.study.load` makes the same study of it.
        """
        rows, _ = self._log.read(lambda log: log.since(self._log.begin))  # even if nothing follows from them
        trials = as_trials(rows, tuple(self.spec.names))
        return export(path, self.name, self.spec, trials, rows, self._log.created_at)

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw values with control and its drift, and each coordinate, over the calendar."""
        from driftopt.study.plot import plot

        x, trials = self.recommend().x, self.trials()
        return plot(path, self.name, self.spec, trials, x, self.status().budget)

    def write_page(self, path: str | os.PathLike[str]) -> Path:
        """Write the facts of `summary` and the picture of `plot` as one .html file that fetches nothing."""
        from driftopt.study.web_page import write_page

        return write_page(path, self.spec, self.summary(), self.recommend(), self.trials())

    def page(self) -> Any:
        """The study on one page, to be printed by rich."""
        from driftopt.study.terminal import page

        return page(self.spec, self.summary(), self.recommend(), self._clock())


class _RemoteStudy(Remote, Study):
    """A study that a server keeps: `Study.open` of its address."""
