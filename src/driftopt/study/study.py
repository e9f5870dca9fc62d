"""`Study`: ask and tell over days, through a database, with nothing lost."""

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftopt import checks
from driftopt.runtime.process_name import this_process
from driftopt.study import asking, telling
from driftopt.study.creation import specify
from driftopt.study.errors import NothingToAsk
from driftopt.study.export import export
from driftopt.study.log import Database, Log, Request, Row
from driftopt.study.metrics import estimates
from driftopt.study.recommendation import Gain, Recommendation, recommend
from driftopt.study.remote import Remote
from driftopt.study.service_client import is_address, no_token
from driftopt.study.session import Session, checked_again
from driftopt.study.spec import Spec
from driftopt.study.state import State
from driftopt.study.status import Status
from driftopt.study.summary import Summary, summarize
from driftopt.study.telling import trial_number
from driftopt.study.trial import KINDS, STATES, Trial
from driftopt.study.watching import LogWatch, Watch

if TYPE_CHECKING:
    from driftopt.stationarity import Stationarity

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
        budget: int | None = None,
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
        max_loss: float | None = None,
        max_loss_total: float | None = None,
        control_every: int | None = None,
        reserve: int = 0,
        settle: int = 1,
        outliers: bool = True,
        covariates: Sequence[str] | None = None,
        limits: Mapping[str, Mapping[str, Any]] | None = None,
        relative_to_control: bool = False,
        outputs: Sequence[str] | None = None,
        objective: Any = None,
        contexts: Mapping[str, Sequence[str]] | None = None,
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
            budget: how many deployments may be made in all, whatever fails; without one, the study goes on
                until it is stopped. Methods by name need one.
            radius: about how far a first trial may be from the present decision. One for each coordinate
                makes these the units in which every distance is measured. Without a radius a trial moves each
                coordinate by about a tenth: of the width of its bounds; else of its value.
            names: a name for each coordinate of x0.
            method: a name from `driftopt.methods.names()`, with its `params`. By default, and for "auto", the
                model decides, which learns from all results together, in any order: up to 1,000 deployments
                and 50 coordinates. Beyond, "auto" is a sequential method. "model" is always the model.
            params: the method's parameters; the model has none.
            bounds: (low, high) for each coordinate, None for an open side; every asked point keeps them.
            constraints: scipy's LinearConstraint, a table {"A", "lb", "ub"}, or a list of them, as in
                `minimize`; every asked point keeps them.
            grid: a step for each coordinate or one for all, as in `minimize`: every asked point and the
                recommendation are on it.
            direction: "minimize" or "maximize".
            rng: a seed, or a Generator to draw one from.
            parallel: for a method by name, directions in one iteration, up to 1,000, so that as many
                deployments can run together. The model can have any number out.
            lease: seconds after which a deployment without a result no longer counts as out; None: never.
            max_failures: failures at one point after which a method by name goes on without it.
            tolerance: for a method by name, how far `x_deployed` may be from the asked point, beyond half a
                step of the grid; a tenth of the radius if not given. The model takes any.
            max_change: the largest distance between two consecutive deployments. What is farther off is
                gone to in steps (trials of the kind "way"), which the budget counts.
            max_loss: how much worse than the start a deployment may be, 0.1 for a tenth of the start's value:
                the model deploys nothing that loses more with a probability above 0.1.
            max_loss_total: how much the whole search may cost against the start, in units of the value.
            control_every: deploy x0 first and again after every so many other deployments, to see the world
                drift; 1: every second deployment is x0.
            reserve: deployments kept for confirmation and stationarity. To tell an improvement takes two
                pairs of start and recommendation, so 4, times `settle`; one where values come with a sem.
            settle: hold every decision for so many deployments and use the last one's result, where people
                react slowly. The budget counts them all, and a trial's `keep` says that nothing changes.
            outliers: whether an implausible result is held until someone accepts or corrects it.
            covariates: names of what else is known of each deployment, such as ["footfall", "rain"], reported
                with its value. They must be things that **the decision cannot move**.
            limits: how large or small other metrics may become, {"complaints": {"max": 5}}, reported with
                each value; {"max": 5, "hard": True} also halts the study where it is broken twice in a row. A
                metric without a limit, {"calls": {}}, is only watched.
            relative_to_control: values count as differences to the `control` reported with each.
            outputs: names of what is observed instead of the value, or with it: units sold of each product.
            objective: how the value follows from the outputs: {"margin": {"cost": [1, 2], "fixed": 0}}, where
                x are prices and there is an output for each; "sum"; or {"weighted": [1, 2]}. A value that is
                reported as well shows what the objective leaves out.
            contexts: the categories of each context in which deployments are made, {"day": ["week", "sat"]}:
                `ask` is then told which.
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
            return _RemoteStudy.begin(url, name, token, clock, key, {**other, "x0": x0})
        no_token(url, token)
        decisions = {key: said.pop(key) for key in ("names", "bounds", "constraints", "grid")}
        spec = specify(decisions=decisions, **said)
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
            f"{self.spec.dim} coordinates>"
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
        *,
        context: Mapping[str, str] | None = None,
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
            context: the category of each context in which it will be deployed, {"day": "sat"}.
        """
        return self.ask_many(1, purpose, holder, new, key, context=context)[0]

    def ask_many(
        self,
        k: int,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
        *,
        context: Mapping[str, str] | None = None,
    ) -> list[Trial]:
        """Up to k deployments together: fewer when fewer can be out together; none is an error.

        The arguments are those of `ask`: first come those that the holder has not answered.
        """
        count = checks.one_count("k", k)
        questions = [self._question(i, count, purpose, holder, new, key, context) for i in range(count)]
        with self._session.lock:
            outcomes = asking.ask(self._session, questions)
        taken: list[Trial] = []
        for outcome in outcomes:
            if isinstance(outcome, Trial):
                taken.append(outcome)
            elif not taken or not isinstance(outcome, NothingToAsk):
                raise outcome
            else:
                break
        return taken

    def ask_each(self, questions: Sequence[Mapping[str, Any]]) -> list[Trial | Exception]:
        """One deployment for each of several who ask together, in one transaction.

        Args:
            questions: the arguments of `ask` for each, {"holder": …} and others.

        Returns:
            for each its trial, or the exception that `ask` would have raised.
        """
        outcomes: dict[int, Trial | Exception] = {}
        sound: dict[int, asking.Question] = {}
        for index, given in enumerate(questions):
            try:
                sound[index] = self._question(0, 1, **given)
            except ValueError as error:
                outcomes[index] = error
        with self._session.lock:
            found = asking.ask(self._session, list(sound.values()))
        outcomes |= dict(zip(sound, found, strict=True))
        return [outcomes[index] for index in range(len(questions))]

    def _question(
        self,
        number: int,
        k: int,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> asking.Question:
        """One of k questions, checked."""
        if key is not None:
            checks.text("key", key)
        checks.choice("purpose", purpose, ("method", "confirm", "stationarity"))
        checks.flag("new", new)
        owner = checks.text("holder", this_process() if holder is None else holder)
        held = None if new or not holder else number
        given = None if context is None else checks.table("context", context)
        said = (purpose, holder, new, given)
        request = None if key is None else Request.of(key, number, k, *said)
        return asking.Question(purpose, owner, held, request, given)

    # Telling

    def tell(
        self,
        id: int,
        value: Any = None,
        sem: Any = None,
        x_deployed: Any = None,
        *,
        covariates: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        n: Any = None,
        control: Any = None,
        outputs: Mapping[str, Any] | None = None,
        who: str | None = None,
    ) -> str:
        """Report a trial's result; returns the state it is in then.

        Args:
            id: the trial's number.
            value: what was measured. It may be left out where `outputs` are given.
            sem: its standard error, if known: results count with their precision.
            x_deployed: the decision that was deployed, where it differs.
            covariates: what else is known, by the names given to `create`; one may be missing, or NaN.
            metrics: what else was measured, by the names of `limits`.
            n: how many customers, visits, … the value is a mean of, where its sem is not known.
            control: what the start's decision gave at the same time, in a second store.
            outputs: what was observed, by the names of `outputs`: the objective makes the value of them.
            who: who says so, for those who read the log; nobody, unless named.

        The same result again is a no-op; another result raises Conflict and changes nothing. NaN and infinity
        are failures. An implausible value, such as one without its decimal point, is held: it moves nothing
        until `accept` or `correct` says what it is.
        """
        said = {"value": value, "sem": sem, "x_deployed": x_deployed, "outputs": outputs}
        more = {"covariates": covariates, "metrics": metrics, "n": n, "control": control}
        return telling.tell(self._session, id=id, who=who, **said, **more)

    def tell_many(self, answers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Report several results in one transaction, all or none; returns the state of each.

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
        value: Any = None,
        reason: str = "",
        *,
        sem: Any = None,
        who: str | None = None,
        covariates: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        n: Any = None,
        control: Any = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> str:
        """Replace a trial's result; what was said before stays in its history. Returns its state.

        The study decides from then on as one that was told so first.

        Args:
            id: a trial that was answered, failed, is held or was voided.
            value: what was truly measured.
            reason: why, for those who read the log.
            sem: the value's standard error; left out, the one told stays; NaN: there is none.
            who: who says so; this process, unless named.
            covariates: in the place of those told; left out, those stay. So it is with what follows.
            metrics: what else was measured.
            n: how many the value is a mean of; NaN: it is not known.
            control: what control gave; NaN: it is not known.
            outputs: what was observed.
        """
        by = this_process() if who is None else who
        more = {"covariates": covariates, "metrics": metrics, "n": n, "control": control, "outputs": outputs}
        return telling.correct(self._session, id, value, sem, reason, by, more)

    def void(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Take a trial's result back; what was said stays in its history. Returns its state.

        Args:
            id: a trial that is complete or held.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        return telling.amend(self._session, id, "voided", reason, this_process() if who is None else who)

    def accept(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Let an answer count that is held, because it is true; returns the trial's state.

        Args:
            id: a trial that is held.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        return telling.amend(self._session, id, "accepted", reason, this_process() if who is None else who)

    def hold(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Hold an answer that counts, because it may not be true; returns the trial's state.

        It moves nothing from now on, as one that was held when it was told; `accept` takes this back.

        Args:
            id: a trial that is complete.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        return telling.amend(self._session, id, "doubted", reason, this_process() if who is None else who)

    def extend(self, budget: int, reason: str = "", *, who: str | None = None) -> None:
        """Allow more deployments: what was done stays, and a method with a plan goes on to the new end.

        Args:
            budget: how many deployments may be made in all, more than before.
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        telling.extend(self._session, budget, reason, this_process() if who is None else who)

    def stop(self, reason: str = "", *, who: str | None = None) -> None:
        """End the study before its budget: `ask` hands out nothing more but evaluations. For ever.

        What is still out may be answered.

        Args:
            reason: why, for those who read the log.
            who: who says so; this process, unless named.
        """
        telling.stop(self._session, reason, this_process() if who is None else who)

    def resume(self, reason: str = "", *, who: str | None = None) -> None:
        """Go on with a study that a hard limit has halted; one that goes on is left alone.

        Args:
            reason: why it may go on, for those who read the log.
            who: who says so; this process, unless named.

        Raises:
            ValueError: the study was stopped, which is for ever.
        """
        telling.resume(self._session, reason, this_process() if who is None else who)

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
        every = self._session.read(lambda state: state.trials(self._clock()))
        given = [(name, value) for name, value in wanted.items() if value is not None]
        return [trial for trial in every if all(getattr(trial, k) == v for k, v in given)]

    def status(self) -> Status:
        """How far the study is: deployments paid for and spent, and rows of its log. Quick, however long."""

        def look(state: State) -> Status:
            so_far = (state.budget, state.spent, state.stopped, state.seen.rows, state.halted)
            return Status(self.name, self._log.created_at, *so_far)

        return self._session.read(look)

    def check_halted(self) -> None:
        """Raise Halted where a hard limit was broken twice in a row, as the next `ask` would."""
        if (halted := self.status().halted) is not None:
            raise asking.refusal(self.spec, halted)

    def trial(self, id: int) -> Trial:
        """One deployment by its number."""
        number = trial_number(id)
        return self._session.read(lambda state: state.trial(state.entry(number), self._clock()))

    def watch(self, after: int | None = None) -> Watch:
        """What is new in this study, whoever does it: every `new()` gives what happened since the last.

        Args:
            after: begin after this row of the log, 0 being its beginning; from now on, unless given.
        """
        return LogWatch(self._log, None if after is None else checks.whole("after", after))

    def _rows(self) -> list[Row]:
        rows, _ = self._log.read(lambda log: log.since(self._log.begin))
        return rows

    def recommend(self, *, context: Mapping[str, str] | None = None) -> Recommendation:
        """The decision to deploy, with its expected and its measured gain: never the best value seen.

        Args:
            context: the context in which it will be deployed; that of the last trial unless given.
        """

        def look(state: State) -> Recommendation:
            x, gain = self._session.recommendation(self._session.context(context))
            trials = state.trials(self._clock())
            found = recommend(self.spec, x, len(state.standing), state.spent, asking.left_of(state), trials)
            metrics = estimates(self.spec, x, trials) if self.spec.limits else ()
            return replace(found, metrics=metrics, gain=None if gain is None else Gain(*map(float, gain)))

        return self._session.read(look)

    def summary(self, place: str | None = None) -> Summary:
        """Where the study stands: values, drift, who holds what, what failed, and what to do now.

        Args:
            place: how the commands of its advice call the database; `Study.place`, unless given.
        """
        called = self.place if place is None else str(checks.text("place", place, LONGEST_PLACE))
        return self._session.read(lambda state: summarize(self.name, self._session, called))

    @property
    def place(self) -> str:
        """What the shell's commands call the database: a file by its path."""
        file = self.url.removeprefix("sqlite:///")
        return file or self.url

    def stationarity(
        self, confidence: float = 0.95, value_range: tuple[float, float] | None = None
    ) -> "Stationarity":
        """How stationary the present recommendation is, from the pairs told with purpose "stationarity".

        Args:
            confidence: the level of the bound.
            value_range: (low, high), which no value can leave. The level then holds for every law of the
                values, rare events too, and however often one looks; see `driftopt.stationarity.measure`.
        """
        from driftopt.study.stationary import stationarity

        def look(state: State) -> "Stationarity":
            x, _ = self._session.recommendation(self._session.context(None))
            return stationarity(self.spec, x, state.trials(self._clock()), confidence, value_range)

        return self._session.read(look)

    def verify(self) -> int:
        """Read the whole log anew, check every row, and replay it; returns the number of rows.

        Raises:
            DamagedLog: a row is not what was written, or is missing.
            ReplayError: the replay does not lead to the points that were asked.
        """
        return checked_again(self._session)

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write every trial to a .csv, .json or .parquet file.

        The .json file holds the whole log too: `driftopt.study.load` makes the same study of it.
        """
        return export(path, self.name, self.spec, self.trials(), self._rows(), self._log.created_at)

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
