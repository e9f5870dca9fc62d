"""What the owner asks: what has it cost, what does it gain, when has it paid, is it worth going on, and why.

All of it follows from the model's posterior of the value; a study with a method by name has none of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from driftopt.study import words
from driftopt.study.records import Ahead, Here
from driftopt.study.session import Session
from driftopt.study.trial import Trial

if TYPE_CHECKING:
    from driftopt.model import Estimate
    from driftopt.model.facts import Facts
    from driftopt.model.posterior import Inputs

MOST = 1000  # the latest deployments that are counted in the cost
DAYS = 30  # that an outlook is about, where no budget ends before
APART = 3.0  # standard errors between the model and what was measured
ENOUGH = 0.02  # of the value: less is not worth a search
POINTS = 15  # of a slice


@dataclass(frozen=True)
class Amount:
    """A sum and its standard error, in units of the value."""

    mean: float
    sem: float


@dataclass(frozen=True)
class Month:
    """One month of the ledger."""

    month: str  # 2026-11
    deployments: int
    cost: Amount  # against the baseline; negative is a gain


@dataclass(frozen=True)
class Outlook:
    """What further deployments would bring, next to deploying the recommendation from now on."""

    unit: str
    period: str
    deployments: int
    gain: Amount  # of each deployment afterwards
    cost: Amount  # of all of them together

    @property
    def sentence(self) -> str:
        """In words."""
        adds, costs = one_amount(self.gain, self.unit), "cost" if self.cost.mean >= 0 else "bring"
        paid = words.money(abs(self.cost.mean), self.unit, self.cost.sem)
        many = f"{self.deployments} more {self.period}{'s' * (self.deployments != 1)}"
        return f"{many} would add about {adds} {each(self.period)} and {costs} about {paid} meanwhile"


@dataclass(frozen=True)
class Money:
    """The search in money, as the model has it."""

    unit: str
    period: str  # for how long a deployment lasts: day, week, or deployment where times do not tell
    deployments: int  # so many of the latest are counted
    cost: Amount  # of all of them against the baseline; negative is a gain
    gain: Amount  # of each deployment of the recommendation, over the baseline
    pays_after: int | None  # such deployments until the search has paid for itself; 0: it has; None: never
    pays_on: float | None  # that day, in seconds since the epoch
    forgone: float  # by stopping now, of each later deployment: less than this with probability 0.95
    ahead: Outlook
    months: tuple[Month, ...]
    at: tuple[float, ...]  # of each deployment that is counted
    cumulated: tuple[float, ...]  # what they have gained over the baseline by then
    errors: tuple[float, ...]  # of that
    advice: tuple[str, ...]  # in sentences
    warnings: tuple[str, ...]  # in sentences

    @property
    def balance(self) -> tuple[str, str]:
        """The cost so far and the gain of the recommendation, in words."""
        way = "cost" if self.cost.mean >= 0 else "gained"
        total = words.money(abs(self.cost.mean), self.unit, self.cost.sem)
        gain = one_amount(self.gain, self.unit)
        return (
            f"the search has {way} {total} so far, against the baseline",
            f"the recommendation gains {gain} {each(self.period)}, by the model",
        )


@dataclass(frozen=True)
class Reason:
    """Why a coordinate is where it is recommended."""

    name: str
    step: float  # how much more of it
    effect: Amount  # what that adds to the value
    matters: float  # how many standard errors its slice leaves 0
    x: tuple[float, ...]  # decisions that differ in this coordinate alone
    value: tuple[float, ...]  # what they add to the value, next to the recommendation
    error: tuple[float, ...]


@dataclass(frozen=True)
class Why:
    """Why this decision: what a change of each coordinate would do."""

    unit: str
    coordinates: tuple[Reason, ...]

    @property
    def lines(self) -> list[str]:
        """A sentence for each coordinate, those that matter first."""
        found: list[str] = []
        for one in sorted(self.coordinates, key=lambda one: -one.matters):
            more = f"{words.plain(one.step)} more changes the value by {one_amount(one.effect, self.unit)}"
            sure = "matters" if one.matters >= 2 else "is not known to matter"
            found.append(f"{one.name} {sure}: {more}")
        return found


def each(period: str) -> str:
    """Of what a figure is.

    >>> each("day"), each("hour"), each("deployment")
    ('a day', 'an hour', 'a deployment')
    """
    return f"{'an' if period == 'hour' else 'a'} {period}"


def one_amount(amount: Amount, unit: str) -> str:
    """An amount with its error, in words."""
    return words.money(amount.mean, unit, amount.sem)


def _known(session: Session) -> "tuple[Facts, Inputs] | None":
    """The posterior of the value, and the recommendation as its input; None without results."""
    spec, state = session.spec, session.state
    if not spec.uses_model or not state.standing:
        return None
    from driftopt.study.model_rule import model_of, numbers_of, results_of  # SciPy

    results, context = results_of(spec, state.standing), session.context(None)
    model = model_of(spec, state.budget)
    if not np.isfinite(results.value).any() and spec.value_of is None:
        return None
    x, _ = session.recommendation(context)
    here = results.inputs(model.units).moved(x[None] / model.units)
    category = np.array([numbers_of(spec, context)], float).reshape(1, -1)
    return model.facts(results), type(here)(
        here.x, np.array([state.spent + 1.0]), 0 * here.covariates, category
    )


def outlook(session: Session, ahead: Ahead) -> Outlook:
    """What more deployments would bring, next to deploying the recommendation from now on."""
    if (known := _known(session)) is None:
        raise ValueError("an outlook needs results, and the model as the method")
    return _outlook(session, *known, ahead.deployments)[0]


def _outlook(session: Session, facts: "Facts", here: "Inputs", days: int) -> tuple[Outlook, float]:
    """The outlook, and what stopping now forgoes at most."""
    spec = session.spec
    candidates = facts.candidates(spec.space, np.array(spec.units), here, spec.seed)
    found = facts.outlook(candidates, here, days, spec.seed)
    period, _ = _period([entry.at for entry in session.state.entries.values()])
    ahead = Outlook(spec.unit, period, days, amount(found.gain), amount(found.cost))
    return ahead, facts.forgone(candidates, here, spec.seed)


def amount(estimate: "Estimate", sign: float = 1.0) -> Amount:
    """An estimate as an amount."""
    return Amount(sign * float(estimate.mean), float(estimate.sd))


def money(session: Session, trials: Sequence[Trial]) -> Money | None:
    """The search in money; None without results, or without the model."""
    if (known := _known(session)) is None:
        return None
    from driftopt.model.facts import pays_after, shock, sums
    from driftopt.study.model_rule import model_of, numbers_of, results_of

    spec, state, (facts, here) = session.spec, session.state, known
    units = np.array(spec.units)
    entries = [e for e in state.entries.values() if e.happened or not e.overdue(session.clock())][-MOST:]
    entries = sorted(entries, key=lambda entry: entry.at)
    points = type(here)(
        np.array([entry.deployed for entry in entries]) / units,
        np.arange(len(entries)) + float(state.spent + 1 - len(entries)),
        np.zeros((len(entries), here.covariates.shape[1])),
        np.array([numbers_of(spec, e.context) for e in entries], float).reshape(
            len(entries), here.context.shape[1]
        ),
    )
    mean, covariance = facts.costs(points)
    at, every = [entry.at for entry in entries], np.arange(len(entries))
    months = [words.moment(one).strftime("%Y-%m") for one in at]
    groups = [np.flatnonzero(np.array(months) == month) for month in sorted(set(months))]
    cost, *ledger = sums(mean, covariance, [every, *groups])
    gain = facts.difference(here)
    gain = type(gain)(-spec.sign * gain.mean, gain.sd)
    left = None if state.budget is None else state.budget - spec.reserve - state.spent
    ahead, forgone = _outlook(session, facts, here, DAYS if not left or left < 1 else min(left, DAYS))
    period, seconds = _period(at)
    after = pays_after(cost, gain)
    pays = None if np.isinf(after) or after > 1e6 else int(np.ceil(after))
    found = Money(
        spec.unit,
        period,
        len(entries),
        amount(cost),
        amount(gain),
        pays,
        None if pays is None or seconds is None else max(at) + pays * seconds,
        forgone,
        ahead,
        tuple(
            Month(name, len(group), amount(one))
            for name, group, one in zip(sorted(set(months)), groups, ledger, strict=True)
        ),
        tuple(at),
        tuple((-np.cumsum(mean)).tolist()),
        tuple(np.sqrt(np.maximum(np.diag(covariance.cumsum(0).cumsum(1)), 0)).tolist()),
        (),
        (),
    )
    level = abs(facts.total(here, np.ones(1)).mean)
    warned = _disagreements(session, found, trials)
    struck = shock(results_of(spec, state.standing), units, model_of(spec, None).objective)
    if struck is not None:
        way = "above" if struck.apart > 0 else "below"
        warned.append(
            f"the last {struck.number} results are {words.money(abs(struck.apart), spec.unit)} {way} what "
            "earlier ones predict, on average: the world may have changed, and the search will follow it"
        )
    return replace(found, advice=tuple(_advice(found, level)), warnings=tuple(warned))


def _period(at: Sequence[float]) -> tuple[str, float | None]:
    """For how long a deployment lasts, by the usual time between two."""
    gaps = np.diff(np.unique(at))
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    for name, days in (("hour", 1 / 24), ("day", 1.0), ("week", 7.0)):
        if 0.75 < usual / (days * words.DAY) < 1.34:
            return name, usual
    return "deployment", None


def _advice(money: Money, level: float) -> list[str]:
    """What the figures say to do, in sentences."""
    unit, period = money.unit, money.period
    bound = f"stopping now forgoes at most {words.money(money.forgone, unit)} {each(period)} (95 %)"
    enough = money.forgone < max(ENOUGH * level, 0.1 * money.gain.mean)
    said = [f"enough is known: {bound}" if enough else bound, money.ahead.sentence]
    if money.gain.mean > 0 and money.pays_after is not None:
        if money.pays_after == 0:
            said.append("the search has paid for itself")
        else:
            when = "" if money.pays_on is None else f", on {words.date(money.pays_on)}"
            said.append(
                f"the search will have paid for itself after {money.pays_after:,} more {period}s{when}"
            )
    elif money.gain.mean <= 0:
        said.append("no gain over the baseline is known yet")
    return said


def _disagreements(session: Session, money: Money, trials: Sequence[Trial]) -> list[str]:
    """Where what was measured is far from what the model says."""
    from driftopt.study.recommendation import improvement

    x, _ = session.recommendation(session.context(None))
    measured = improvement(session.spec, x, trials)
    if measured is None or not np.isfinite(measured.sem):
        return []
    error = float(np.hypot(measured.sem, money.gain.sem))
    if abs(measured.mean - money.gain.mean) <= APART * error:
        return []
    model, other = one_amount(money.gain, money.unit), words.money(measured.mean, money.unit, measured.sem)
    return [
        f"the model and the measurement disagree: a gain of {model} by the model, of {other} by "
        f"{measured.basis}; trust the measurement"
    ]


def why(session: Session, here: Here) -> Why:
    """Why this decision: what a change of each coordinate would do, and which ones matter."""
    if (known := _known(session)) is None:
        raise ValueError("why needs results, and the model as the method")
    facts, at = known
    if here.context is not None:
        from driftopt.study.model_rule import numbers_of

        context = session.context(here.context)
        x, _ = session.recommendation(context)
        category = np.array([numbers_of(session.spec, context)], float)
        at = type(at)(x[None] / np.array(session.spec.units), at.time, at.covariates, category)
    spec, units = session.spec, np.array(session.spec.units)
    slopes, errors = facts.slopes(at)
    tried = facts.curve.posterior.inputs.x
    found: list[Reason] = []
    for i, name in enumerate(spec.names):
        low, high = min(tried[:, i].min(), at.x[0, i] - 1), max(tried[:, i].max(), at.x[0, i] + 1)
        bounds = (None, None) if spec.bounds is None else spec.bounds[i]
        low = low if bounds[0] is None else max(low, bounds[0] / units[i])
        high = high if bounds[1] is None else min(high, bounds[1] / units[i])
        x = np.repeat(at.x, POINTS, axis=0)
        x[:, i] = np.linspace(low, high, POINTS)
        value, error = facts.slice(at.moved(x), at)
        matters = float(np.max(abs(value) / np.where(error > 0, error, np.inf), initial=0.0))
        found.append(
            Reason(
                name,
                float(units[i]),
                Amount(float(slopes[i]), float(errors[i])),
                matters,
                tuple((x[:, i] * units[i]).tolist()),
                tuple(value.tolist()),
                tuple(error.tolist()),
            )
        )
    return Why(spec.unit, tuple(found))
