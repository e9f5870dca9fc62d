"""The recommended decision, with what is honestly known of its improvement: never the best value seen."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from driftopt import averages
from driftopt.answers.limits import limits_of
from driftopt.space import units
from driftopt.study import words
from driftopt.study.asking import direction, evaluated
from driftopt.study.records import StudySpec
from driftopt.study.trial import EVALUATIONS, FOR_ANOTHER, Trial

if TYPE_CHECKING:
    from driftopt.stationarity import Stationarity

_LATE, _FEWEST = 8, 4  # the last eighth of the answers, four at the least
PAIRS = 2  # that confirm: their differences show the error of their mean


@dataclass(frozen=True)
class Mean:
    """A mean of n told values and its standard error."""

    mean: float
    sem: float | None
    n: int


@dataclass(frozen=True)
class Improvement:
    """How much better the recommendation is than the start, in the study's direction: positive is better."""

    mean: float
    sem: float
    recommended: Mean
    start: Mean
    basis: str

    @property
    def warning(self) -> str | None:
        """What to do where it is none, beyond two standard errors: keep the start."""
        if not self.mean < -2 * self.sem:
            return None
        few = "; two pairs say little of their error, so measure more where you can"
        return (
            f"the recommendation was measured to be worse than the start, by {-self.mean:.4g} ± "
            f"{self.sem:.2g} (standard error): the start is better kept"
            f"{few if self.recommended.n == PAIRS else ''}"
        )


@dataclass(frozen=True)
class Metric:
    """What a metric is at the recommendation, or about there."""

    name: str
    mean: float | None  # None: it was not told yet
    sem: float | None
    n: int
    limit: str  # in words
    basis: str

    @property
    def words(self) -> str:
        """In words."""
        if self.mean is None:
            return f"{self.name}: not told yet; {self.limit}"
        error = "" if self.sem is None else f" ± {self.sem:.2g}"
        return f"{self.name}: {self.mean:.4g}{error}, from {self.n} {self.basis}; {self.limit}"


@dataclass(frozen=True)
class Gain:
    """What the model expects of the recommendation over the start: positive is better."""

    mean: float
    sem: float

    @property
    def words(self) -> str:
        """In words."""
        return f"the model expects a gain of {self.mean:.4g} ± {self.sem:.2g}"


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation:
    """What to deploy when the study is over, or now."""

    ALSO: ClassVar = ("known",)  # which JSON has as well
    x: np.ndarray  # (d,), the decision
    names: tuple[str, ...]  # one for each coordinate
    results: int  # how many stand
    spent: int  # deployments that count against the budget
    # Measured over the start, positive is better: mean, sem, and their basis; None: not known.
    improvement: Improvement | None
    note: str  # what the improvement rests on, or why none is known
    metrics: tuple[Metric, ...] = ()  # what else was measured there, where there are limits
    # Over the start, as the model expects it; None without results, or without the model
    gain: Gain | None = None

    @property
    def as_dict(self) -> dict[str, float]:
        """The decision by name."""
        return dict(zip(self.names, self.x.tolist(), strict=True))

    @property
    def warning(self) -> str | None:
        """That it was measured to be worse than the start, where it was."""
        return None if self.improvement is None or self.results == 0 else self.improvement.warning

    @property
    def known(self) -> str:
        """What is known of the improvement, in words."""
        gain = self.improvement
        if gain is None:
            return self.note if self.gain is None else f"{self.gain.words}; {self.note}"
        rest = "" if self.warning is None else ": the start is better kept"
        return f"improvement {gain.mean:.4g} ± {gain.sem:.2g} (standard error){rest}"

    def __repr__(self) -> str:
        return f"<Recommendation: {words.plainly(self.names, self.x.tolist())}; {self.known}>"

    def _repr_html_(self) -> str:
        lines = [(name, words.number(value)) for name, value in self.as_dict.items()]
        return words.html(f"Recommendation from {self.results} results", lines, self.known)


def mean_of(trials: Sequence[Trial]) -> Mean | None:
    """The mean of the told values; one value alone has the error that came with it, if one did."""
    told = [trial for trial in trials if trial.state == "complete" and trial.value is not None]
    if not told:
        return None
    values = np.array([trial.value for trial in told], dtype=np.float64)
    if len(told) > 1:
        return Mean(float(averages.mean(values)), averages.standard_error(values), len(told))
    return Mean(float(values[0]), told[0].sem, 1)


def recommend(
    spec: StudySpec,
    x: np.ndarray,
    results: int,
    spent: int,
    left: int | None,
    trials: Sequence[Trial],
    expected: Sequence[float] | None = None,
) -> Recommendation:
    """The recommendation of x.

    Args:
        spec: the study's plan.
        x: the decision.
        results: how many results count.
        spent: deployments that count against the budget.
        left: deployments that may still be made; None: without end.
        trials: all of them.
        expected: the mean and the error of the gain, as the model has it.
    """
    measured = improvement(spec, x, trials)
    if results == 0:
        note = "no result is known: this is the start"
    elif measured is None:
        note = f"improvement over the start is not measured: {_to_measure(spec, confirming(x, trials), left)}"
    else:
        note = f"improvement over the start, from {measured.basis}"
    gain, metrics = None if expected is None else Gain(*map(float, expected)), estimates(spec, x, trials)
    return Recommendation(x, tuple(spec.names), results, spent, measured, note, metrics, gain)


def confirming(x: np.ndarray, trials: Sequence[Trial]) -> list[Trial]:
    """The pairs of start and recommendation that belong to the present one, x."""
    pairs = [trial for trial in trials if trial.kind == "confirm"]
    others = {t.point for t in pairs if t.sample == 1 and not np.array_equal(t.x, x)}
    here = {t.point for t in pairs if t.sample == 1}
    last = max((t.id for t in trials if t.kind not in (*EVALUATIONS, *FOR_ANOTHER)), default=0)
    return [t for t in pairs if t.point not in others and (t.point in here or t.id > last)]


def still_to_ask(confirming: Sequence[Trial]) -> int:
    """How many more must be asked for the purpose confirm until two pairs are whole, or out."""
    places = {(t.point, t.sample) for t in confirming if t.state in ("complete", "pending")}
    sides = Counter(point for point, _ in places)
    return 2 * PAIRS - sum(count for _, count in sides.most_common(PAIRS))


def _to_measure(spec: StudySpec, pairs: Sequence[Trial], left: int | None) -> str:
    """What makes the improvement known, as far as the budget goes."""
    missing = still_to_ask(pairs)
    if missing == 0:
        return "results for the purpose confirm are awaited"
    if left is None or missing * spec.settle <= left:
        times = "" if missing == 2 * PAIRS else f", {missing} time{'s' * (missing > 1)} more"
        return f"ask for the purpose confirm to measure it{times}"
    one = missing <= PAIRS or 2 * spec.settle <= left
    rest = "; one pair is enough where both values are told with their sem" if one else ""
    is_left = f"{left} {'is' if left == 1 else 'are'} left"
    more = missing * spec.settle
    return f"to measure it takes {more} more for the purpose confirm, and {is_left}{rest}"


def improvement(spec: StudySpec, x: np.ndarray, trials: Sequence[Trial]) -> Improvement | None:
    """What is measured of it: fresh values at the recommendation against values at the start.

    Two values of a pair saw the same weeks, so that the error is that of the differences, sd(d_i)/√n: what
    moves both sides alike takes no part in it. Controls from the whole study stand in where there is no pair.
    """
    sign = spec.sign
    told = [t for t in confirming(x, trials) if t.state == "complete" and t.value is not None]
    sides = [{t.point: t for t in told if t.sample == side} for side in (0, 1)]
    both = sorted(sides[0].keys() & sides[1].keys())
    paired, here = (mean_of([side[pair] for pair in both]) for side in sides)
    if len(both) > 1 and paired is not None and here is not None:
        values = np.array([[side[pair].value for pair in both] for side in sides], dtype=np.float64)
        less = sign * _difference(values[0], values[1])
        error = averages.standard_error(less)
        return Improvement(float(averages.mean(less)), error, here, paired, "confirming pairs")
    here = mean_of(list(sides[1].values()))
    controls = mean_of([trial for trial in trials if trial.kind == "control"])
    for start, basis in ((paired, "confirming pairs"), (controls, "confirming and control deployments")):
        if here is not None and start is not None and here.sem is not None and start.sem is not None:
            gain = sign * float(_difference(start.mean, here.mean))
            return Improvement(gain, _both(here.sem, start.sem), here, start, basis)
    return None


def _difference(a: Any, b: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        return averages.within_range(np.subtract(a, b))


def _both(one: float, other: float) -> float:
    """The standard error of a difference: √(a² + b²)."""
    with np.errstate(over="ignore"):
        return float(averages.within_range(np.hypot(one, other)))


def estimates(spec: StudySpec, x: np.ndarray, trials: Sequence[Trial]) -> tuple[Metric, ...]:
    """From deployments of the recommendation itself, if there are two; else from the last trials."""
    told = [trial for trial in trials if trial.state == "complete"]
    there = [t for t in told if t.kind == "confirm" and t.sample == 1 and np.array_equal(t.x, x)]
    around = [t for t in told if t.kind == "method"]
    late = around[-max(len(around) // _LATE, _FEWEST) :]

    def metric(name: str, words: str) -> Metric:
        for group, basis in ((there, "confirming deployments"), (late, "last trials around it")):
            values = np.array([t.metrics[name] for t in group if name in t.metrics], np.float64)
            if values.size > 1 or (values.size and group is late):
                error = averages.standard_error(values) if values.size > 1 else None
                basis = basis if values.size > 1 else "trial around it"
                return Metric(name, float(averages.mean(values)), error, values.size, words, basis)
        return Metric(name, None, None, 0, words, "")

    return tuple(metric(limit.name, limit.words) for limit in limits_of(spec.limits))


def stationarity(
    spec: StudySpec,
    x: np.ndarray,
    trials: Sequence[Trial],
    confidence: float,
    value_range: tuple[float, float] | None,
) -> "Stationarity":
    """The report from the pairs whose results stand on both sides, around the recommendation x."""
    from driftopt.stationarity import from_pairs, least_pairs

    sides: dict[int, dict[int, Trial]] = {}
    for trial in trials:
        if trial.kind != "stationarity" or trial.state != "complete":
            continue
        if np.array_equal(trial.x, evaluated(spec, trial.kind, trial.point, trial.sample, x)):
            sides.setdefault(trial.point, {})[trial.sample] = trial
    pairs = [(pair[0], pair[1]) for pair in sides.values() if len(pair) == 2]
    if len(pairs) < (least := least_pairs(value_range)):
        raise ValueError(
            f"{len(pairs)} pairs are told at the present recommendation and {least} are needed: "
            "ask for the purpose stationarity and tell"
        )
    # In the order in which they were completed: the level then holds however often one has looked.
    pairs.sort(key=lambda pair: (max(t.answered_at or 0.0 for t in pair), pair[0].point))
    sizes = np.array(spec.units) / units.of(spec.space.steps)
    radius = float(sizes[0]) if np.ptp(sizes) == 0 else 1.0  # else each coordinate is measured in its own
    return from_pairs(
        [ahead.value for ahead, _ in pairs],
        [behind.value for _, behind in pairs],
        np.array([direction(spec, ahead.point) for ahead, _ in pairs]),
        radius=radius,
        confidence=confidence,
        value_range=value_range,
    )
