"""`Study`: ask and tell over days, through a database, with nothing lost."""

import inspect
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from driftopt import checks
from driftopt.runtime.process_name import this_process
from driftopt.study.asking import refusal
from driftopt.study.creation import specify
from driftopt.study.errors import Implausible
from driftopt.study.export import export
from driftopt.study.facts import Course, Summary
from driftopt.study.http import Http, is_address, no_token
from driftopt.study.log import Database, Log, Request
from driftopt.study.looking import Change
from driftopt.study.past import history_of, rows_of
from driftopt.study.recommendation import Recommendation
from driftopt.study.records import REQUIRED, After, StudyOptions, StudySpec, decode, fields_of
from driftopt.study.trial import Status, Trial
from driftopt.study.verbs import VERBS, Local, record_of

if TYPE_CHECKING:
    from driftopt.stationarity import Stationarity

Url = str | os.PathLike[str] | Database


class Study:
    """A live optimisation whose whole memory is the database.

    Any number of processes may hold the same study; the object may be dropped at any moment.
    """

    def __init__(self, transport: Local | Http):
        self.transport = transport
        self.name = transport.name
        self.spec = transport.spec

    @classmethod
    def create(
        cls,
        url: Url,
        name: str,
        *,
        clock: Callable[[], float] = time.time,
        key: str | None = None,
        token: str | None = None,
        **options: Unpack[StudyOptions],
    ) -> "Study":
        """A new study.

        Args:
            url: a database URL (`sqlite:///prices.db`, `postgresql://…`), the path of an SQLite file, or the
                address of a server (`https://…`, see `driftopt serve`).
            name: the study's name in that database.
            clock: seconds since the epoch; a server has its own.
            key: a word for this request: the same again gives the study that it made, so that a request whose
                answer was lost may be repeated.
            token: for a server, one of its tokens; by default the environment's DRIFTOPT_TOKEN.
        """
        if isinstance(past := options.get("history"), str | os.PathLike):
            options["history"] = rows_of(past)
        request = None
        if key is not None:
            request = Request.of(checks.text("key", key), 0, name, sorted(options.items()))
        name = str(checks.text("name", name))
        if isinstance(url, str) and is_address(url):
            return cls(Http.create(url, name, token, key, dict(options)))
        no_token(url, token)
        spec = specify(decode(StudyOptions, options))
        log = Log.create(url, name, spec.as_json(), clock(), request)
        own = options.get("objective")
        spec = StudySpec.from_json(log.spec).with_function(own if callable(own) else None)
        return cls(Local(log, name, spec, clock))

    @classmethod
    def open(
        cls,
        url: Url,
        name: str,
        *,
        objective: Callable[..., float] | None = None,
        clock: Callable[[], float] = time.time,
        token: str | None = None,
    ) -> "Study":
        """A study that exists.

        Args:
            url: where it is kept, as in `create`: a database, or the address of a server.
            name: the study's name there.
            objective: your function, if the study was created with one: no log can keep it.
            clock: seconds since the epoch; a server has its own.
            token: for a server, one of its tokens; by default the environment's DRIFTOPT_TOKEN.
        """
        checks.text("name", name)
        if isinstance(url, str) and is_address(url):
            return cls(Http.open(url, name, token))
        no_token(url, token)
        log = Log.open(url, name)
        return cls(Local(log, name, StudySpec.from_json(log.spec).with_function(objective), clock))

    def begin_again(self, url: Url, name: str, **options: Any) -> "Study":
        """A new study that begins from this one's recommendation, with its results as history.

        Args:
            url: where it is kept, as in `create`.
            name: its name there.
            options: those of `create` that differ from this study's.
        """
        spec, best = self.spec, self.recommend()
        same = ("budget", "direction", "lease", "max_failures", "max_change", "max_loss", "max_loss_total")
        same += ("control_every", "reserve", "settle", "outliers", "covariates", "limits", "outputs")
        same += ("relative_to_control", "objective", "contexts", "unit", "season", "bounds")
        given: dict[str, Any] = {option: getattr(spec, option) for option in same}
        given |= {part: one for part, one in spec.steps.items() if part in ("grid", "constraints")}
        if spec.uses_model:
            given["history"] = [*map(spec.past_row, spec.history), *history_of(self.trials())]
            given["radius"] = spec.units
        else:
            given |= {"method": spec.method, "params": spec.params, "parallel": spec.parallel}
        given |= {"x0": best.as_dict, "rng": spec.seed + 1}
        return Study.create(url, name, **cast(Any, given | options))

    @property
    def url(self) -> str:
        """Where the study is kept; a password is not shown."""
        return self.transport.label

    @property
    def place(self) -> str:
        """What the shell's commands call the database: a file by its path."""
        return self.transport.place

    def close(self) -> None:
        """Give the connections back. Nothing depends on it."""
        self.transport.close()

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

    # Verbs: each is one record, done over the transport

    def do(self, verb: str, record: Any = None, /, **fields: Any) -> Any:
        """The answer of a verb, by its name.

        Args:
            verb: one of `driftopt.study.verbs.VERBS`.
            record: what it takes, as that verb's record or a table.
            fields: the same, by name.
        """
        return self.transport.do(verb, record_of(verb, record, fields))

    def do_together(self, verb: str, records: Sequence[Any]) -> list[Any]:
        """For each of several who do the same its answer or its exception, in one transaction if possible."""
        sound: dict[int, Any] = {}
        outcomes: dict[int, Any] = {}
        for index, given in enumerate(records):
            try:
                sound[index] = record_of(verb, given, {})
            except ValueError as error:
                outcomes[index] = error
        found = self.transport.do_together(verb, list(sound.values())) if sound else []
        outcomes |= dict(zip(sound, found, strict=True))
        return [outcomes[index] for index in range(len(records))]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A verb that was added."""
            if name not in VERBS:
                raise AttributeError(f"a study has no {name!r}")
            return lambda **fields: self.do(name, **fields)

    def ask(
        self,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
        *,
        context: Mapping[str, str] | None = None,
    ) -> Trial:
        """The next deployment, leased to `holder`."""
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
        """Up to k deployments together: fewer when fewer can be pending together; none is an error.

        The arguments are those of `ask`: first come those that the holder has not answered.
        """
        owner, new = (this_process(), True) if holder is None else (holder, new)
        given = {"purpose": purpose, "holder": owner, "new": new, "key": key, "context": context}
        return list(self.do("ask", count=checks.one_count("k", k), **given).trials)

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
        at: Any = None,
        early: bool = False,
        who: str | None = None,
    ) -> str:
        """Report a trial's result; returns the state it is in then.

        The same result again is a no-op; another result raises Conflict and changes nothing. NaN and infinity
        are failures. An implausible value, such as one without its decimal point, is held: it moves nothing
        until `accept` or `correct` says what it is.
        """
        return self._say("tell", locals())

    def tell_many(self, answers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Report several results in one transaction, all or none; returns the state of each."""
        given = checks.several("answers", answers)
        return [one.state for one in self.do("tell_many", answers=given).states] if given else []

    def fail(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Say that the deployment gave no result; returns the trial's state."""
        return self._say("fail", locals())

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
        at: Any = None,
    ) -> str:
        """Replace a trial's result; what was said before stays in its history. Returns its state.

        The study decides from then on as one that was told so first.
        """
        said = {**locals(), "who": this_process() if who is None else who}
        state = self.do("correct", {name: said[name] for name in said if name != "self"})
        for doubt in state.doubts:
            slip = f"{doubt}; it counts, because someone says so. If it is a slip, correct trial {id} again"
            warnings.warn(slip, Implausible, stacklevel=2)
        return state.state

    def void(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Take a trial's result back; what was said stays in its history. Returns its state."""
        return self._say("void", locals(), this_process())

    def accept(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Let a result count that is held, because it is true; returns the trial's state."""
        return self._say("accept", locals(), this_process())

    def hold(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        """Hold a result that counts, because it may not be true; returns the trial's state.

        It moves nothing from now on; `accept` takes this back.
        """
        return self._say("hold", locals(), this_process())

    def extend(self, budget: int, reason: str = "", *, who: str | None = None) -> None:
        """Allow more deployments: what was done stays, and a method with a plan goes on to the new end."""
        self.do("extend", budget=budget, reason=reason, who=this_process() if who is None else who)

    def stop(self, reason: str = "", *, who: str | None = None) -> None:
        """End the study before its budget, permanently: `ask` hands out nothing more but evaluations.

        Results of pending deployments may still be reported.
        """
        self.do("stop", reason=reason, who=this_process() if who is None else who)

    def resume(self, reason: str = "", *, who: str | None = None) -> None:
        """Go on with a study that a hard limit has halted; one that goes on is left alone.

        Raises:
            ValueError: the study was stopped, which is permanent.
        """
        self.do("resume", reason=reason, who=this_process() if who is None else who)

    def _say(self, verb: str, said: dict[str, Any], who: str | None = None) -> str:
        """The state of a trial after something was said of it."""
        given = {name: value for name, value in said.items() if name != "self"}
        return self.do(verb, given | {"who": who if said["who"] is None else said["who"]}).state

    # Looking

    def trials(
        self, state: str | None = None, kind: str | None = None, holder: str | None = None
    ) -> list[Trial]:
        """The deployments so far, in the order asked: those still pending with a holder that died, say."""
        found: list[Trial] = []
        after: int | None = None
        while True:
            page = self.do("trials", state=state, kind=kind, holder=holder, after=after)
            found += page.trials
            if (after := page.next) is None:
                return found

    def trial(self, id: int) -> Trial:
        """One deployment by its number."""
        return self.do("trial", id=id)

    def status(self) -> Status:
        """How far the study is: deployments paid for and spent, and rows of its log. Quick, however long."""
        return self.do("status")

    def check_halted(self) -> None:
        """Raise Halted where a hard limit was broken twice in a row, as the next `ask` would."""
        if (halted := self.status().halted) is not None:
            raise refusal(self.spec, halted)

    def watch(self, after: int | None = None) -> "Watch":
        """What is new in this study, whoever does it: every `new()` gives what happened since the last.

        Args:
            after: begin after this row of the log, 0 being its beginning; by default from now on.
        """
        return Watch(self, self.status().rows if after is None else checks.whole("after", after))

    def recommend(self, *, context: Mapping[str, str] | None = None) -> Recommendation:
        """The decision to deploy, with its expected and its measured gain: never the best value seen."""
        return self.do("recommend", context=context)

    def summary(self, place: str | None = None) -> Summary:
        """Where the study is: values, drift, who holds what, what failed, and what to do now."""
        return self.do("summary", place=place)

    def course(self, skip: int = 0, count: int = 12) -> Course:
        """All that a picture of the study shows: every deployment, drift, and the paths of coordinates."""
        return self.do("course", skip=skip, count=count)

    def stationarity(
        self, confidence: float = 0.95, value_range: tuple[float, float] | None = None
    ) -> "Stationarity":
        """How stationary the present recommendation is, from the pairs told with purpose "stationarity".

        Args:
            confidence: the level of the bound.
            value_range: (low, high), which no value can leave. The level then holds for every law of the
                values, rare events too, and however often one looks; see `driftopt.stationarity.measure`.
        """
        low, high = (None, None) if value_range is None else value_range
        return self.do("stationarity", confidence=confidence, low=low, high=high)

    def verify(self) -> int:
        """The number of rows of the log, after all were read again, checked and replayed.

        Raises:
            DamagedLog: a row is not what was written, or is missing.
            ReplayError: the replay does not lead to the points that were asked.
        """
        return self.do("verify").rows

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write every trial to a .csv, .json or .parquet file.

        The .json file holds the whole log too: `driftopt.study.load` makes the same study of it.
        """
        return export(path, self.name, self.spec, self.trials(), lambda: self.do("log")._asdict())

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw values with control and its drift, and each coordinate, over the calendar."""
        from driftopt.report.picture import write_picture
        from driftopt.study.plot import PANELS, draw

        return write_picture(draw(self.summary(), self.course(0, PANELS)), path, dpi=120)

    def write_page(self, path: str | os.PathLike[str]) -> Path:
        """Write the facts of `summary` and the picture of `plot` as one .html file that fetches nothing."""
        from driftopt.study.web_page import write_page

        return write_page(path, self)

    def page(self) -> Any:
        """The study on one page, to be printed by rich."""
        from driftopt.study.terminal import page

        return page(self.spec, self.summary(), self.transport.clock())


class Watch:
    """What is new in a study; between two looks nothing is held, not even a connection."""

    def __init__(self, study: Study, after: int):
        self._study, self._after = study, after

    def new(self) -> list[Change]:
        """What happened since the last look, oldest first."""
        found, after = list[Change](), self._after
        while True:
            page = self._study.do("changes", After(after))
            found += page.changes
            if page.next is None:
                self._after = found[-1].row if found else after  # the last thing: an interruption loses none
                return found
            after = page.next


def _explained() -> None:
    """Complete the signature of `create`, and the docstrings of verbs, from their records."""
    create: Any = cast(Any, Study.create).__func__
    listed = inspect.signature(create)
    *own, _ = listed.parameters.values()
    kind, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    options = [
        inspect.Parameter(
            part.name, kind, default=none if part.default is REQUIRED else part.default, annotation=part.type
        )
        for part in fields_of(StudyOptions)
    ]
    create.__signature__ = listed.replace(parameters=[*own[:3], *options, *own[3:]])
    first = "            name: the study's name in that database.\n"
    told = "".join(f"            {part.name}: {part.help}\n" for part in fields_of(StudyOptions))
    create.__doc__ = (create.__doc__ or "").replace(first, first + told)
    for verb in VERBS.values():
        method: Any = getattr(Study, verb.name, None)
        if method is not None and method.__doc__ and "Args:" not in method.__doc__:
            taken = inspect.signature(method).parameters
            parts = [part for part in fields_of(verb.record) if part.name in taken]
            told = "".join(f"            {part.name}: {part.help}\n" for part in parts)
            method.__doc__ = f"{method.__doc__.rstrip()}\n\n        Args:\n{told}" if told else method.__doc__


_explained()
