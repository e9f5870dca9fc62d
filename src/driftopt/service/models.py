"""The JSON of requests and answers, from which FastAPI makes the description that /docs shows.

`Study` decides which numbers are possible; these models only give the form of the JSON. The server's answers
have the fields of the records of `driftopt.study`, which are listed there alone.
"""

import json
import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    create_model,
    field_validator,
)

from driftopt import checks
from driftopt import study as records
from driftopt.study.errors import Holding
from driftopt.study.records import MOST_PARALLEL
from driftopt.study.trial import STATES, Event

_Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Whole = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
_Words = Annotated[str, Field(strict=True, max_length=2000)]
_Vector = Annotated[list[_Finite], Field(max_length=10_000)]
_Named = Annotated[dict[str, _Finite], Field(max_length=10_000)]
# JSON has no such numbers: null and these words stand for them.
_NoNumber = Literal["NaN", "Infinity", "-Infinity"]
# How Python checks the argument of that name: a refusal over HTTP has the same sentence.
_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("value", "sem", "n", "control"), checks.number),
    **dict.fromkeys(("lease", "tolerance", "max_change", "max_loss", "max_loss_total"), checks.one_positive),
    **dict.fromkeys(("id", "budget", "max_failures", "settle", "control_every"), checks.one_count),
    **dict.fromkeys(("name", "who", "holder", "method"), checks.text),
    **dict.fromkeys(("params", "metrics", "limits", "outputs", "contexts", "context"), checks.table),
    **dict.fromkeys(("names", "answers"), checks.several),
    "parallel": partial(checks.one_count, most=MOST_PARALLEL),
    "radius": checks.positive,
    "rng": checks.seed,
    "reserve": checks.whole,
    "reason": partial(checks.text, longest=2000),
    "x0": checks.vector,
    "x_deployed": checks.vector,
    "new": checks.flag,
    "relative_to_control": checks.flag,
    "outliers": checks.flag,
    "direction": partial(checks.choice, allowed=("minimize", "maximize")),
    "purpose": partial(checks.choice, allowed=("method", "confirm", "stationarity")),
}


class _Sent(BaseModel):
    """A request's body: fields that are not listed are refused."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="wrap")
    @classmethod
    def _refuse_in_pythons_words(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        try:
            return handler(value)
        except ValidationError:
            name = str(info.field_name)
            if check := _CHECKS.get(name):
                named = name.startswith("x") and isinstance(value, dict)
                check(name, list(value.values()) if named else value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
            raise

    def given(self) -> dict[str, Any]:
        """The fields that were sent, by name."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class _Returned(BaseModel):
    """An answer's body, read from a mapping or from an object's attributes."""

    model_config = ConfigDict(from_attributes=True, validate_by_name=True, arbitrary_types_allowed=True)


def _fields_of(record: Any, leave_out: Collection[str] = ()) -> Any:
    """A model with the fields of a record of `driftopt.study`."""
    hints = get_type_hints(record)
    fields: Any = {name: (kind, ...) for name, kind in hints.items() if name not in leave_out}
    return create_model(f"{record.__name__}Fields", __base__=_Returned, **fields)


# Refusals


class Fault(_Returned):
    """A place in a request that does not fit."""

    where: str
    what: str


class Refusal(_Returned):
    """A refusal in the form of RFC 9457, with the same sentence as Python's exception."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "This contradicts what is recorded",
                    "status": 409,
                    "detail": "trial 3 was already told 12.5; it cannot also be 13.0. Nothing was changed; "
                    "`correct` replaces an answer",
                    "kind": "Conflict",
                }
            ]
        }
    )
    type: str
    title: str
    status: int
    detail: str = Field(description="What was given, what was expected, and what to do.")
    kind: str = Field(description="The name of the exception that Python raises.")
    holdings: list[Holding] | None = Field(
        default=None, description="The pending deployments, if nothing can be asked."
    )
    errors: list[Fault] | None = Field(default=None, description="The places of the request that do not fit.")


# Studies


class NewStudy(_Sent):
    """A new study: the arguments of `Study.create`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "prices",
                    "x0": {"tea": 2.5, "oil": 9.9},
                    "budget": 60,
                    "radius": 0.3,
                    "grid": 0.05,
                    "direction": "maximize",
                    "control_every": 5,
                    "reserve": 8,
                }
            ]
        },
    )
    name: _Words = Field(description="The study's name in the database.")
    x0: _Vector | _Named = Field(description="The decision in force today, as a list or by name.")
    budget: _Whole | None = Field(
        default=None, description="How many deployments may be made in all; null: without end."
    )
    radius: _Finite | _Vector | None = Field(
        default=None, description="About how far a trial is from the present."
    )
    names: list[_Words] | None = Field(
        default=None, description="A name for each coordinate, if x0 is a list."
    )
    method: _Words | None = Field(default=None, description="A method's name; the model, unless given.")
    params: dict[str, _Finite | int | str | None] | None = Field(
        default=None, description="The method's parameters."
    )
    bounds: list[tuple[_Finite | None, _Finite | None]] | None = Field(
        default=None, description="(low, high) for each coordinate, null for an open side."
    )
    constraints: list[dict[str, Any]] | dict[str, Any] | None = Field(
        default=None, description='Linear constraints: {"A": [[1, 1]], "ub": [8]}, or a list of such.'
    )
    grid: _Finite | list[_Finite | tuple[_Finite, _Finite] | None] | None = Field(
        default=None, description="A step for each coordinate, or one for all; [step, through] as well."
    )
    direction: Literal["minimize", "maximize"] = "minimize"
    rng: Annotated[int, Field(strict=True, ge=0, lt=2**63)] | None = Field(
        default=None, description="A seed."
    )
    parallel: Annotated[int, Field(strict=True, ge=1, le=MOST_PARALLEL)] = 1
    lease: _Finite | None = Field(
        default=604800.0,
        description="Seconds after which an unanswered trial may be asked again; null: never.",
    )
    max_failures: _Whole = 3
    tolerance: _Finite | None = None
    max_change: _Finite | None = None
    max_loss: _Finite | None = Field(
        default=None,
        description="How much worse than the start a deployment may be, as a share of its value.",
    )
    max_loss_total: _Finite | None = Field(
        default=None, description="How much the search may cost in all, in units of the value."
    )
    control_every: _Whole | None = None
    reserve: _Whole = 0
    settle: _Whole = 1
    outliers: Annotated[bool, Field(strict=True)] = Field(
        default=True, description="Whether implausible results are held until someone says what they are."
    )
    covariates: list[_Words] | None = Field(
        default=None, description="Names of what else is known of each trial, and no decision moves."
    )
    limits: dict[str, dict[str, _Finite | bool]] | None = Field(
        default=None, description='How large or small metrics may become: {"complaints": {"max": 5}}.'
    )
    relative_to_control: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Values count as differences to control."
    )
    outputs: list[_Words] | None = Field(default=None, description="Names of what the value follows from.")
    objective: _Words | dict[str, Any] | None = Field(
        default=None, description='How the value follows: {"margin": {"cost": [1, 2], "fixed": 0}}, "sum", …'
    )
    contexts: dict[str, list[_Words]] | None = Field(
        default=None, description="The categories of each context in which deployments are made."
    )

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Study.create` after the name."""
        addressable(self.name)
        given = {name: value for name, value in self.given().items() if name != "name"}
        if isinstance(self.x0, dict):
            if self.names is not None:
                raise ValueError("x0 names its coordinates: leave names out")
            given |= {"x0": list(self.x0.values()), "names": list(self.x0)}
        return given


def addressable(name: str) -> None:
    """Refuse a name that browsers remove from an address."""
    if name in (".", ".."):
        raise ValueError(f"name {name!r} cannot be part of an address: choose another one")


class Exported(BaseModel):
    """A study as `export?format=json` returns it; fields that are not listed are ignored."""

    model_config = ConfigDict(extra="ignore")
    study: _Words = Field(description="Its name.")
    spec: dict[str, Any] = Field(description="What was decided at its creation.")
    log: dict[str, Any] = Field(description="Every row of its log, with a checksum of all.")


class Listed(_fields_of(records.Listed)):
    """One study of the list."""


class StudyList(_Returned):
    """The studies that the token may see, oldest first."""

    studies: list[Listed]


class StudyPlan(_fields_of(records.Status)):
    """A study's plan, with every default written out, and its progress."""

    rows: int = Field(description="Rows of its log: the `after` from which on `events` returns news.")
    spec: dict[str, Any] = Field(description="Everything that was decided at its creation.")


def plan(study: records.Study) -> dict[str, Any]:
    """The JSON of a study's plan and progress."""
    return study.status()._asdict() | {"spec": json.loads(study.spec.as_json())}


class Extension(_Sent):
    """A larger budget."""

    budget: _Whole = Field(examples=[80])
    reason: _Words = Field(default="", examples=["two more months"])
    who: _Words | None = None


class Reason(_Sent):
    """A reason, for readers of the log."""

    reason: _Words = Field(default="", examples=["the shelf was empty"])
    who: _Words | None = Field(default=None, description="Who reports it; the token's name by default.")


class Deleted(_Returned):
    """A deleted study."""

    name: str
    rows: int = Field(description="How many rows its log had.")


class Verified(_Returned):
    """The log is as it was written, and its replay leads to the points that were asked."""

    rows: int


# Trials


class Question(_Sent):
    """A request for deployments."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"holder": "till 3"}, {}]})
    purpose: Literal["method", "confirm", "stationarity"] = "method"
    holder: _Words | None = Field(
        default=None,
        description="Who deploys it. A holder gets its pending trials again; without one, every question "
        "gives another trial, held by the token's name.",
    )
    new: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="Another one, even if the holder has a pending trial."
    )
    count: Annotated[int, Field(strict=True, ge=1, le=1000)] = Field(
        default=1, description="At most this number of trials."
    )
    context: dict[str, _Words] | None = Field(default=None, description="The category of each context.")


class Happened(_fields_of(Event)):
    """An event of a trial."""


class Trial(_fields_of(records.Trial, leave_out=("names",))):
    """A deployment and its result."""

    x: dict[str, float] = Field(validation_alias="as_dict", description="The decision to deploy, by name.")
    x_deployed: Annotated[list[float] | None, BeforeValidator(lambda x: x if x is None else list(x))]
    history: list[Happened]
    story: str = Field(description="The history in words; empty unless a result was changed.")


class Trials(_Returned):
    """Some trials; `next` is the `after` of the next page, null on the last."""

    trials: list[Trial]
    next: int | None = None


class Answer(_Sent):
    """The result of a deployment."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"value": 12.5}, {"value": 12.5, "sem": 0.4}]}
    )
    value: _Finite | _NoNumber | None = Field(
        default=None, description="What was measured; null where it is no number, unless outputs are given."
    )
    sem: _Finite | None = Field(default=None, description="Its standard error, if known.")
    x_deployed: _Vector | _Named | None = Field(
        default=None, description="The decision that was deployed, if another one."
    )
    covariates: dict[str, _Finite | None] | None = Field(
        default=None, description="Side information by name; null for an unknown value."
    )
    metrics: dict[str, _Finite | None] | None = Field(
        default=None, description="Other measurements, by the names of the limits."
    )
    n: _Finite | None = Field(default=None, description="The number of observations whose mean the value is.")
    control: _Finite | None = Field(default=None, description="The value of the start at the same time.")
    outputs: dict[str, _Finite | None] | None = Field(
        default=None, description="Observed outputs by name: the objective makes the value of them."
    )
    who: _Words | None = Field(default=None, description="Who reports it; the token's name by default.")

    def arguments(self, names: tuple[str, ...], caller: str) -> dict[str, Any]:
        """The arguments of `Study.tell`; `caller` reports it by default."""
        given = self.given() | {"who": caller if self.who is None else self.who}
        if self.value is not None or ("value" in given and not self.outputs):
            given["value"] = math.nan if self.value is None else float(self.value)
        if isinstance(self.x_deployed, dict):
            if set(self.x_deployed) != set(names):
                raise ValueError(f"x_deployed must name each of {', '.join(names)}")
            given["x_deployed"] = [self.x_deployed[name] for name in names]
        return given


class NumberedAnswer(Answer):
    """The result of one trial among several."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"id": 1, "value": 12.5}]})
    id: _Whole


class AnswerBatch(_Sent):
    """Several results, recorded all or none."""

    answers: Annotated[list[NumberedAnswer], Field(min_length=1, max_length=1000)]


class Correction(_Sent):
    """The true measurement."""

    value: _Finite | _NoNumber | None = Field(default=None, examples=[1.25])
    reason: _Words = Field(default="", examples=["the decimal point was lost"])
    sem: _Finite | _NoNumber | None = Field(
        default=None, description="Its standard error; left out, the one told stays; NaN: there is none."
    )
    who: _Words | None = None
    covariates: dict[str, _Finite | None] | None = Field(
        default=None, description="In the place of those told; left out, those stay."
    )
    metrics: dict[str, _Finite | None] | None = None
    n: _Finite | _NoNumber | None = Field(default=None, description="As sem.")
    control: _Finite | _NoNumber | None = Field(default=None, description="As sem.")
    outputs: dict[str, _Finite | None] | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Study.correct` after the trial's number."""
        beside = {"sem": self.sem, "n": self.n, "control": self.control}
        numbers = {name: float(said) for name, said in beside.items() if said is not None}
        unknown = None if self.outputs or "value" not in self.model_fields_set else math.nan
        return self.given() | numbers | {"value": unknown if self.value is None else float(self.value)}


class TrialState(_Returned):
    """A trial's present state."""

    id: int
    state: Literal[STATES]  # pyright: ignore[reportInvalidTypeForm]


class ToldTrials(_Returned):
    """The trials' present states, in the order of the results."""

    states: list[TrialState]


# Looking


class Recommendation(_fields_of(records.Recommendation, leave_out=("names",))):
    """The decision to deploy when the study is over, or now."""

    x: dict[str, float] = Field(validation_alias="as_dict")
    known: str = Field(description="The improvement in words.")


class Change(_fields_of(records.Change)):
    """A row of a study's log, as `events` returns it."""


class Changes(_Returned):
    """Rows of the log; `next` is the `after` of the next page, null on the last."""

    changes: list[Change]
    next: int | None = None


class Health(_Returned):
    """The server runs, or is ready."""

    status: Literal["ok"] = "ok"
