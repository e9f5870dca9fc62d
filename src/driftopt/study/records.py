"""The records of a study: what may be given to it, each field once, with its help and its check.

`StudyOptions` are the arguments of `Study.create`, `StudySpec` is what the log keeps of them, and each verb
of driftopt.study.verbs takes one of the small records. Keywords of Python, bodies of HTTP, JSON on standard
input and options of the shell are all read by `decode`, so that a mistake has one wording. A field's help is
in its record's docstring, its check in its type.
"""

import datetime
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from inspect import cleandoc
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Required,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_type_hints,
)
from typing import get_args as args_of
from typing import get_origin as origin_of

import numpy as np

from driftopt import checks
from driftopt.answers import Answers, Beside, beside, limits
from driftopt.answers.answers import LARGEST
from driftopt.model import Margin, Weighted
from driftopt.space import Space
from driftopt.study.errors import FormatError

DAY = 86400.0
LARGEST_ITERATION = 1_000_000  # deployments
MOST_PARALLEL = 1000
LONGEST_TEXT = 2000  # characters
SEASONS = ("weekday", "month")
MODEL = "model"  # the method that is a function of the set of results; all others are sequential
R = TypeVar("R")
REQUIRED: Any = object()  # the default of a field that must be given
Purpose = Literal["method", "confirm", "stationarity"]
_NO_NUMBER = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}  # JSON has no such numbers


# Checks: (name, value) -> the clean value, or a ValueError that says what was given, expected, and to be done


def _text(name: str, value: Any) -> str:
    return "" if isinstance(value, str) and not value else checks.text(name, value, LONGEST_TEXT)


def _start(name: str, value: Any) -> Any:
    """A decision by name, checked; all else is for `Space.build`."""
    return _decision(name, value) if isinstance(value, Mapping) else value


def _numbers(name: str, value: Any) -> dict[str, float]:
    """Numbers by name, without those that are not known: NaN, infinity and None."""
    table = {key: one for key, one in checks.table(name, value).items() if one is not None}
    read = {key: checks.number(f"{name}[{key!r}]", one) + 0.0 for key, one in table.items()}
    return {key: one for key, one in read.items() if math.isfinite(one)}


def _decision(name: str, value: Any) -> Any:
    """A decision as a vector, or by name."""
    if not isinstance(value, Mapping):
        return checks.vector(name, value)
    return {key: float(checks.finite(f"{name} {key}", one)) for key, one in checks.table(name, value).items()}


def _seed(name: str, value: Any) -> int:
    return int(value.integers(2**32)) if isinstance(value, np.random.Generator) else checks.seed(name, value)


def _vector(name: str, value: Any) -> list[float]:
    return checks.vector(name, value).tolist()


def _sizes(name: str, value: Any) -> list[float]:
    return checks.positive(name, checks.vector(name, value)).tolist()


def _names(name: str, value: Any) -> list[str]:
    return list(beside.names(name, value))


def _limits(name: str, value: Any) -> dict[str, dict[str, Any]]:
    return limits.checked(value)


def _reserve(name: str, value: Any) -> int:
    return 0 if checks.is_whole(value) and value == 0 else checks.one_count(name, value)


def _method(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(
        f"{name} must be a name, because a study outlives the program: give a method of your own one with "
        f"driftopt.methods.register; got {checks.brief(value)}"
    )


def moment(name: str, value: Any) -> float:
    """Seconds since the epoch, from a number, a date or a time; without a zone it is UTC."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(
                f"{name} must be a date or a time, such as 2026-11-20 or 2026-11-20T18:30; got {value!r}"
            ) from None
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=value.tzinfo or datetime.UTC).timestamp()
    return float(checks.finite(name, value))


def _seasons(name: str, value: Any) -> list[str]:
    found = _names(name, value)
    for one in found:
        checks.choice(f"each of {name}", one, SEASONS)
    return found


def _history(name: str, value: Any) -> tuple[dict[str, Any], ...]:
    return tuple(checks.table(f"each row of {name}", row) for row in checks.several(name, value))


def checked_contexts(name: str, value: Any) -> dict[str, list[str]]:
    table = checks.table(name, value)
    found = {key: list(beside.names(f"{name} {key}", known)) for key, known in table.items()}
    if lonely := [key for key, known in found.items() if len(known) < 2]:
        raise ValueError(f"{name} {', '.join(lonely)} must have at least two categories")
    return found


def _params(name: str, value: Any) -> dict[str, Any]:
    """A method's parameters as JSON has them: numbers and words."""
    for key, one in checks.table(name, value).items():
        if isinstance(one, str):
            checks.text(f"{name}[{key!r}]", one)
        elif one is not None:
            checks.finite(f"{name}[{key!r}]", checks.number(f"{name}[{key!r}]", one))
    return value


def _results(name: str, value: Any, read: Any = None) -> "tuple[Result, ...]":
    listed, found = checks.several(name, value), list[Result]()
    for index, one in enumerate(listed, start=1):
        try:
            known = isinstance(one, Result)
            found.append(one if known else (read or decode)(Result, checks.table("each answer", one)))
        except ValueError as error:
            raise ValueError(
                f"answer {index} of {len(listed)}: {error}. None of the {len(listed)} answers was recorded"
            ) from None
    return tuple(found)


Whole = Annotated[int, checks.whole]
Count = Annotated[int, checks.one_count]
Number = Annotated[float, checks.number]
Positive = Annotated[float, checks.one_positive]
Flag = Annotated[bool, checks.flag]
Name = Annotated[str, checks.text]
Text = Annotated[str, _text]
Names = Annotated[Sequence[str], _names]
Numbers = Annotated[Mapping[str, float], _numbers]
Table = Annotated[Mapping[str, Any], checks.table]
Limits = Annotated[Mapping[str, Mapping[str, Any]], _limits]
Context = Annotated[Mapping[str, str], checks.table]
Contexts = Annotated[Mapping[str, Sequence[str]], checked_contexts]
Decision = Annotated[np.ndarray, _decision]
Moment = Annotated[str, moment]  # or seconds since the epoch, or a date


# What a study is


class StudyOptions(TypedDict, total=False):
    """The arguments of `Study.create`.

    Args:
        x0: the decision in force today, the baseline, as numbers or by name; or a `Space`.
        budget: how many deployments may be made in all, whatever fails; without one, the study goes on until
            it is stopped. Methods by name need one.
        radius: about how far a first trial may be from the present decision. One for each coordinate makes
            these the units in which every distance is measured. Without a radius a trial moves each
            coordinate by about a tenth: of the width of its bounds; else of its value.
        names: a name for each coordinate of x0.
        method: a name from `driftopt.methods.names()`, with its `params`. By default, and for "auto", the
            model decides, which learns from all results together, in any order: up to 1,000 deployments and
            50 coordinates. Beyond, "auto" is a sequential method. "model" is always the model.
        params: the method's parameters; the model has none.
        bounds: (low, high) for each coordinate, None for an open side; every decision keeps them.
        constraints: scipy's LinearConstraint, a table {"A", "lb", "ub"}, or a list of them, as in `minimize`;
            every decision keeps them.
        grid: a step for each coordinate or one for all, as in `minimize`: every decision is on it.
        direction: "minimize" or "maximize"; it must be given where the value is money: with a unit, or with a
            margin as objective. Else values are minimised.
        rng: a seed, or a Generator to draw one from.
        parallel: for a method by name, directions in one iteration, up to 1,000, so that as many deployments
            can run together. The model can have any number pending.
        lease: seconds after which a deployment without a result expires and no longer counts as pending;
            None: never. Its holder renews it by asking again, and a late result still counts.
        max_failures: failures at one point after which a method by name goes on without it.
        tolerance: for a method by name, how far `x_deployed` may be from the asked point, beyond half a step
            of the grid; by default a tenth of the radius. The model takes any.
        max_change: the largest distance between two consecutive deployments. What is farther off is reached
            in steps (trials of the kind "way"), which the budget counts.
        max_loss: how much worse than the baseline a deployment may be, 0.1 for a tenth of its value: the
            model deploys nothing that loses more with a probability above 0.1.
        max_loss_total: how much the whole search may cost against the baseline, in units of the value.
        control_every: deploy x0 first and again after this many other deployments, to see the world drift;
            with 1, every second deployment is x0.
        reserve: deployments kept for confirmation and stationarity. An improvement needs two pairs of
            baseline and recommendation, so 4, times `settle`; one pair where values come with a sem.
        settle: hold every decision for this many deployments and use the last one's result, where people
            react slowly. The budget counts them all, and a trial's `keep` says that nothing changes.
        outliers: whether an implausible result is held until someone accepts or corrects it.
        covariates: names of what else is known of each deployment, such as ["footfall", "rain"], reported
            with its value. They must be things that **the decision cannot move**.
        limits: how large or small other metrics may become, {"complaints": {"max": 5}}, reported with each
            value; {"max": 5, "hard": True} also halts the study when it is broken twice in a row. A metric
            without a limit, {"calls": {}}, is only watched.
        relative_to_control: values count as differences to the `control` reported with each.
        outputs: names of what is observed instead of the value, or with it: units sold of each product.
        objective: how the value follows from the outputs: {"margin": {"cost": [1, 2], "fixed": 0}}, where x
            are prices and there is an output for each; "sum"; or {"weighted": [1, 2]}. In Python also your
            function of (x, outputs, context), which `open` then needs again. A value that is reported as well
            shows what the objective leaves out.
        contexts: the categories of each context in which deployments are made, {"day": ["week", "sat"]}: you
            then tell `ask` which.
        unit: of the value, such as "€": money is written with it.
        season: what of the date moves the value, "weekday", "month" or both: driftopt learns how, from the
            day on which each result was asked for or, if reported, its `at`.
        history: results from before the study, as rows with `date`, the coordinates by name, and `value` or
            the outputs; in Python and the shell also the path of a CSV file with such columns. They count
            less than the study's own, and have a level of their own, since nobody chose them at random.
    """

    x0: Required[Annotated[Any, _start]]
    budget: Count | None
    radius: Any
    names: Sequence[str] | None
    method: Annotated[str, _method] | None
    params: Table | None
    bounds: Any
    constraints: Any
    grid: Any
    direction: Literal["minimize", "maximize"] | None
    rng: Annotated[Any, _seed] | None
    parallel: Annotated[int, partial(checks.one_count, most=MOST_PARALLEL)]
    lease: Positive | None
    max_failures: Count
    tolerance: Positive | None
    max_change: Positive | None
    max_loss: Positive | None
    max_loss_total: Positive | None
    control_every: Count | None
    reserve: Annotated[int, _reserve]
    settle: Count
    outliers: Flag
    covariates: Names | None
    limits: Limits | None
    relative_to_control: Flag
    outputs: Names | None
    objective: Any
    contexts: Contexts | None
    unit: Text
    season: Annotated[Sequence[str], _seasons] | None
    history: Annotated[Sequence[Mapping[str, Any]], _history] | None


_DEFAULTS: dict[str, Any] = {  # of options; of all others None
    "x0": REQUIRED,
    "parallel": 1,
    "lease": 7 * DAY,
    "max_failures": 3,
    "reserve": 0,
    "settle": 1,
    "outliers": True,
    "relative_to_control": False,
    "unit": "",
}


@dataclass(frozen=True)
class OwnObjective:
    """The value as your function of (x, outputs, context); a study with contexts has none."""

    function: Callable[[np.ndarray, np.ndarray, Mapping[str, str]], float]

    def __call__(self, x: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        values = np.full(outputs.shape[:-1], np.nan)
        decisions = np.broadcast_to(x, (*values.shape, np.shape(x)[-1]))
        for at in np.ndindex(values.shape):
            if np.isfinite(outputs[at]).all():
                values[at] = checks.number(
                    "the objective's value", self.function(decisions[at], outputs[at], {})
                )
        return values

    def own(self, output: int, start: np.ndarray) -> None:
        """The coordinate on which an output mainly depends: nobody knows."""


@dataclass(frozen=True)
class StudySpec:
    """The unchanging part of a study, stored as JSON with every default written out."""

    x0: list[float]
    names: list[str]
    method: Name  # "model", or the name of a sequential method
    params: Annotated[dict[str, Any], _params]  # of a sequential method
    budget: Count | None  # None: without end
    bounds: list[list[float | None]] | None
    steps: dict[str, Any]  # of the space, in addition to the bounds
    direction: Literal["minimize", "maximize"]
    seed: Annotated[int, _seed]
    parallel: Count
    lease: Positive | None
    max_failures: Count
    tolerance: Positive | None  # for a sequential method, how far from its point a value may be measured
    max_change: Positive | None
    max_loss: Positive | None
    max_loss_total: Positive | None
    control_every: Count | None
    reserve: Annotated[int, _reserve]
    settle: Count  # periods for which a decision is held; the last one's result counts
    units: Annotated[list[float], _sizes]  # the radius of each coordinate
    points: Count  # of an iteration
    repeats: Count
    provider: Name  # the package that brings the method
    begun: Annotated[list[float], _vector] | None  # where a sequential search begins, if not at x0
    outliers: Flag  # whether implausible results are held
    covariates: Annotated[list[str], _names]  # their names
    limits: Annotated[dict[str, dict[str, Any]], _limits]  # on metrics
    relative_to_control: Flag
    outputs: Annotated[list[str], _names]  # their names
    objective: dict[str, Any] | None  # how the value follows from the outputs
    contexts: Annotated[dict[str, list[str]], checked_contexts]  # the categories of each
    unit: Text  # of the value
    season: Annotated[list[str], _seasons]  # what of the date moves the value
    history: list[dict[str, Any]]  # results from before: day (0 is the last), x, value, outputs, …
    function: Callable[..., float] | None = None  # the objective, where it is your own: not in the log

    @property
    def uses_model(self) -> bool:
        """Whether the model decides, rather than a sequential method."""
        return self.method == MODEL

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.x0)

    @property
    def size(self) -> int:
        """Deployments in one iteration of a sequential method."""
        return self.points * self.repeats

    @property
    def sign(self) -> float:
        """−1 where values are to be maximised."""
        return -1.0 if self.direction == "maximize" else 1.0

    def planned(self, budget: int) -> int:
        """The part of a budget that is the method's own: no reserve, no control."""
        return planned(budget, self.reserve, self.control_every, self.settle)

    @property
    def start(self) -> np.ndarray:
        """The decision in force when the study began."""
        return self.space.start

    @cached_property
    def space(self) -> Space:
        """From a method's points to decisions."""
        return Space.build(self.x0, names=self.names, bounds=self.bounds, **self.steps)

    @cached_property
    def answers(self) -> Answers:
        """From what was reported to the values of a sequential method."""
        return Answers.build(
            direction=self.direction,
            largest=LARGEST,
            tolerance=self.tolerance,
            distance=self.space.astray,
            covariates=self.covariates,
            relative_to_control=self.relative_to_control,
            limits=self.limits,
            precision=True,
        )

    @cached_property
    def value_of(self) -> Margin | Weighted | OwnObjective | None:
        """The objective as a function of decisions and outputs; None where values are reported themselves."""
        match self.objective:
            case None:
                return None
            case {"function": _}:
                return OwnObjective(cast(Any, self.function))
            case {"margin": margin}:
                return Margin(tuple(margin["cost"]), margin["fixed"])
            case other:
                return Weighted(tuple(other["weighted"]))

    def past_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of `history` as `create` takes it."""
        plain = {"date": row["at"], "value": row["value"]}
        told = {**plain, **row["outputs"], **row["covariates"], **row["context"]}
        return {**dict(zip(self.names, row["x"], strict=True)), **told}

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps({k: v for k, v in asdict(self).items() if k != "function"}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "StudySpec":
        """The specification again; FormatError where another version wrote it."""
        given = json.loads(text)
        known = {field.name for field in fields(cls)} - {"function"}
        if set(given) != known:
            other = ", ".join(sorted(set(given) ^ known))
            raise FormatError(
                f"this study was written by another version of driftopt ({other}): use that one, or create "
                "the study again"
            )
        return cls(**given)

    def with_function(self, given: Any) -> "StudySpec":
        """The specification with your own objective; ValueError where it is missing."""
        wanted = (self.objective or {}).get("function")
        name = None if given is None else getattr(checks.function("objective", given), "__name__", "it")
        if wanted != name:
            now = "none was given" if name is None else f"{name} was given"
            how = f"it is your function {wanted}" if wanted else "this study keeps its own"
            advice = f"open(…, objective={wanted})" if wanted else "leave objective out"
            raise ValueError(f"objective: {how}, and {now}; {advice}")
        return replace(self, function=given)


def planned(budget: int, reserve: int, control_every: int | None, settle: int = 1) -> int:
    """The method's own part of a budget: deployments whose results it is told.

    >>> planned(128, 8, 5)
    100
    """
    usable = (budget - reserve) // settle
    return max(1, usable if control_every is None else usable * control_every // (control_every + 1))


def check_size(points: int, repeats: int) -> None:
    """Refuse iterations so large that what awaits their results would not fit into memory."""
    if points * repeats > LARGEST_ITERATION:
        raise ValueError(
            f"one iteration would need {points * repeats} deployments, and at most {LARGEST_ITERATION} are "
            "possible: lower batch, directions or parallel"
        )


# What the verbs take


@dataclass(frozen=True)
class Nothing:
    """No field."""


@dataclass(frozen=True)
class Question:
    """A question for deployments.

    Args:
        count: take up to this many.
        purpose: "method" to optimise; "confirm" for the baseline and the recommendation in turn;
            "stationarity" for pairs of points around the recommendation.
        holder: who deploys it. A holder with a name gets the deployment that it has not answered again, so
            that a job may run twice, or die and be run again. Without a name every deployment is another one.
        new: hand out another one, although the holder has one without a result.
        key: a word for this request: the same again gives the same deployment, answered or not, so that a
            request whose answer was lost may be repeated.
        context: the category of each context in which it will be deployed, {"day": "sat"}.
    """

    count: Count = 1
    purpose: Purpose = "method"
    holder: Name | None = None
    new: Flag = False
    key: Name | None = None
    context: Context | None = None


@dataclass(frozen=True, kw_only=True)
class _Measured:
    id: Count
    value: Number | None = None
    sem: Number | None = None
    covariates: Numbers | None = None
    metrics: Numbers | None = None
    n: Number | None = None
    control: Number | None = None
    outputs: Numbers | None = None
    at: Moment | None = None
    who: Name | None = None

    def beside(self, spec: StudySpec) -> Beside:
        """What came with the value, checked against what the study knows of."""
        if self.control is not None and not spec.relative_to_control:
            raise ValueError("control is reported where relative_to_control=True was given at the beginning")
        if self.sem is not None and (self.sem < 0 or math.isinf(self.sem)):
            raise ValueError(f"sem must be finite and >= 0, or None; got {self.sem}")
        return Beside(
            covariates=beside.covariates(self.covariates, spec.covariates),
            metrics=beside.metrics(self.metrics, list(spec.limits)),
            n=beside.size(self.n),
            control=beside.control(self.control),
            outputs=beside.outputs(self.outputs, spec.outputs),
            at=cast(Any, self.at),  # `moment` has made a number of it
        )


@dataclass(frozen=True, kw_only=True)
class Result(_Measured):
    """The result of one deployment.

    Args:
        id: the trial's number.
        value: what was measured. It may be left out where `outputs` are given.
        sem: its standard error, if known: results count with their precision.
        x_deployed: the decision that was deployed, if another one, as numbers or by name.
        covariates: what else is known, by the names given to `create`; one may be missing, or NaN.
        metrics: what else was measured, by the names of `limits`.
        n: how many customers, visits, … the value is a mean of, where its sem is not known.
        control: what the baseline gave at the same time, in a second store.
        outputs: what was observed, by the names of `outputs`: the objective makes the value of them.
        at: the date or time that the result is of, such as 2026-11-20, where it is not that of the question.
        early: the value is not final: it counts less, as early values have turned out so far, until the
            final one is reported in the same way.
        who: who says so, for those who read the log; by default nobody, over HTTP the token's name.
    """

    x_deployed: Decision | None = None
    early: Flag = False

    def beside(self, spec: StudySpec) -> Beside:
        """What came with the value, and whether it is early."""
        return super().beside(spec)._replace(early=True if self.early else None)

    def deployed(self, spec: StudySpec) -> np.ndarray | None:
        """The decision that was deployed, (d,); None: the one that was asked."""
        where: Any = self.x_deployed
        if isinstance(where, Mapping):
            if set(cast(Any, where)) != set(spec.names):
                raise ValueError(f"x_deployed must name each of {', '.join(spec.names)}")
            where = [where[name] for name in spec.names]
        return None if where is None else checks.vector("x_deployed", where, spec.dim)


@dataclass(frozen=True, kw_only=True)
class Correction(_Measured):
    """What a result is replaced with.

    Args:
        id: a trial that was answered, failed, is held or was voided.
        value: what was truly measured.
        reason: why, for those who read the log.
        sem: the value's standard error; left out, the one reported stays; NaN: there is none.
        covariates: in the place of those reported; left out, those stay. So it is with what follows.
        metrics: what else was measured.
        n: how many the value is a mean of; NaN: it is not known.
        control: what the baseline gave; NaN: it is not known.
        outputs: what was observed.
        at: the date or time that the result is of.
        who: who says so; by default this process, over HTTP the token's name.
    """

    reason: Text = ""


@dataclass(frozen=True)
class Results:
    """Several results, recorded all or none.

    Args:
        answers: the fields of a result for each, {"id": …, "value": …} and others.
    """

    answers: Annotated[tuple[Result, ...], _results]


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Something that is said of the study.

    Args:
        reason: why, for those who read the log.
        who: who says so.
    """

    reason: Text = ""
    who: Name | None = None


@dataclass(frozen=True, kw_only=True)
class Amendment(Reason):
    """Something that is said of a trial.

    Args:
        id: the trial's number.
    """

    id: Count


@dataclass(frozen=True, kw_only=True)
class Extension(Reason):
    """A larger budget.

    Args:
        budget: how many deployments may be made in all, more than before.
    """

    budget: Count


@dataclass(frozen=True)
class TrialId:
    """One trial.

    Args:
        id: the trial's number.
    """

    id: Count


@dataclass(frozen=True)
class Wanted:
    """Which trials to list.

    Args:
        state: those that are pending, complete, failed, expired, voided or held.
        kind: those of one kind: method, control, confirm, stationarity, way or settle.
        holder: those of one holder.
        order: "oldest" first, or "newest".
        after: the last trial of the page before.
        limit: at most this many.
    """

    state: Literal["pending", "complete", "failed", "expired", "voided", "held"] | None = None
    kind: Literal["method", "control", "confirm", "stationarity", "way", "settle"] | None = None
    holder: Name | None = None
    order: Literal["oldest", "newest"] = "oldest"
    after: Whole | None = None
    limit: Count | None = None


@dataclass(frozen=True)
class After:
    """Rows of the log.

    Args:
        after: a row of the log; only later ones are returned.
        limit: at most this many.
    """

    after: Whole = 0
    limit: Count | None = None


@dataclass(frozen=True)
class Here:
    """Where a decision will be deployed.

    Args:
        context: the category of each context; by default that of the last trial.
    """

    context: Context | None = None


@dataclass(frozen=True)
class Ahead:
    """How far to look ahead.

    Args:
        deployments: how many more.
    """

    deployments: Count = 30


@dataclass(frozen=True)
class Called:
    """How the study is called.

    Args:
        place: how commands of the shell call its database or server.
    """

    place: Text | None = None


@dataclass(frozen=True)
class Window:
    """Which coordinates are drawn.

    Args:
        skip: leave out this many of those that changed most.
        count: draw this many.
    """

    skip: Whole = 0
    count: Whole = 12


@dataclass(frozen=True)
class Sureness:
    """How sure a bound is to be.

    Args:
        confidence: the level of the bound.
        low: no value can be less. With `high`, the level holds for every law of the values.
        high: no value can be more.
    """

    confidence: Number = 0.95
    low: Number | None = None
    high: Number | None = None


# Reading and writing


class Part(NamedTuple):
    """A field of a record."""

    name: str
    type: Any  # without its check: float | None, Sequence[str], Literal["a", "b"], …
    default: Any  # or REQUIRED
    help: str
    check: Callable[[str, Any], Any]
    optional: bool  # whether None may be given

    @property
    def numeric(self) -> bool:
        """Whether it is one number, which JSON writes "NaN" where it is none."""
        return self.type in (float, float | None)


@cache
def fields_of(record: type) -> tuple[Part, ...]:
    """The fields of a record, in their order."""
    texts = "\n".join(cleandoc(kind.__doc__ or "") for kind in record.__mro__[:-1])
    told = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", texts, re.MULTILINE)
    helps = {name: " ".join(help.split()) for name, help in reversed(told)}
    helps = {name: helps[name] for name, _ in told}  # those of the record itself first
    if is_dataclass(record):
        defaults = {one.name: one.default for one in fields(record)}
    else:
        defaults = {name: _DEFAULTS.get(name) for name in StudyOptions.__annotations__}
    hints = get_type_hints(record, include_extras=True)
    order = sorted(hints, key=[*helps, *hints].index)  # as explained: inherited fields are not the first
    return tuple(
        _part(
            name, hints[name], REQUIRED if defaults[name] is MISSING else defaults[name], helps.get(name, "")
        )
        for name in order
    )


def _part(name: str, hint: Any, default: Any, help: str) -> Part:
    """A field from its type, such as Annotated[int, check] | None."""
    if origin_of(hint) is Required:
        (hint,) = args_of(hint)
    several = [] if hasattr(hint, "__metadata__") or origin_of(hint) is Literal else args_of(hint)
    optional = hint is Any or NoneType in several
    kinds = [one for one in several if one is not NoneType] if NoneType in several else [hint]
    kind: Any
    (kind,) = kinds
    check: Callable[[str, Any], Any] = lambda _, value: value  # noqa: E731
    if hasattr(kind, "__metadata__"):
        kind, check = kind.__origin__, kind.__metadata__[0]
    elif origin_of(kind) is Literal:
        check = partial(checks.choice, allowed=args_of(kind))
    return Part(name, kind | None if optional and kind is not Any else kind, default, help, check, optional)


def decode(record: type[R], given: Mapping[str, Any]) -> R:
    """A record from what was given, by name."""
    parts = {part.name: part for part in fields_of(record)}
    noun = "study" if record is StudyOptions else record.__name__.lower()
    if unknown := sorted(set(given) - set(parts)):
        raise ValueError(f"{', '.join(unknown)}: unknown. The {noun} takes {', '.join(parts)}")
    read: dict[str, Any] = {}
    for name, part in parts.items():
        value = given.get(name, part.default)
        if value is REQUIRED:
            raise ValueError(f"{name} is needed: {part.help}")
        untouched = value is part.default or (value is None and part.optional)
        read[name] = value if untouched else part.check(name, value)
    return cast(Any, record)(**read)


def request_from_json(record: type[R], data: Any) -> R:
    """A record from JSON, where words stand for NaN and infinity; a value of null is NaN.

    >>> request_from_json(Result, {"id": 3, "value": None, "sem": "NaN"}).value
    nan
    """
    given = checks.table("the JSON", data)
    for part in fields_of(record):
        said = given.get(part.name)
        if part.numeric and isinstance(said, str):
            given[part.name] = _NO_NUMBER.get(said, said)
    if issubclass(record, _Measured) and given.get("value", 0) is None and not given.get("outputs"):
        given["value"] = math.nan
    if record is Results:
        given["answers"] = _results("answers", given.get("answers"), request_from_json)
    return decode(record, given)


def as_json(given: Any) -> Any:
    """Anything of a study as JSON knows it: a record is a table, and its decision is by name."""
    value: Any = given.tolist() if hasattr(given, "tolist") else given
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    names: Any = getattr(value, "_fields", None)
    names = [one.name for one in fields(value)] if is_dataclass(value) else names
    if names is None:
        return [as_json(one) for one in value] if isinstance(value, list | tuple) else value
    table = {name: as_json(getattr(value, name)) for name in (*names, *getattr(value, "ALSO", ()))}
    if "names" in table and "x" in table:
        table["x"] = dict(zip(table.pop("names"), table["x"], strict=True))
    return table


def answer_from_json(kind: Any, data: Any) -> Any:
    """What `as_json` made of an answer, again."""
    if origin_of(kind) in (Union, UnionType):
        (one,) = [choice for choice in args_of(kind) if choice is not NoneType]
        return None if data is None else answer_from_json(one, data)
    if kind is np.ndarray:
        return np.array(data, dtype=np.float64)
    if origin_of(kind) is tuple:
        one, *rest = args_of(kind)
        parts = [one] * len(data) if rest == [...] else [one, *rest]
        return tuple(answer_from_json(part, value) for part, value in zip(parts, data, strict=True))
    if origin_of(kind) is list:
        return [answer_from_json(args_of(kind)[0], one) for one in data]
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        if "names" in hints and "x" in hints:
            data = data | {"names": list(data["x"]), "x": list(data["x"].values())}
        known = {name: answer_from_json(hint, data[name]) for name, hint in hints.items() if name in data}
        return cast(Any, kind)(**known)
    return data
