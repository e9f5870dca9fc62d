"""The model in a study: the results that stand as its arrays, and its answers as the study's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from driftopt.answers.effects import Effect, p_value
from driftopt.model import Estimate, Limit, Model, Results
from driftopt.model.belief import foreseen, precision
from driftopt.study import words
from driftopt.study.log import Happened, Writer
from driftopt.study.records import StudySpec
from driftopt.study.state import Entry, State
from driftopt.study.trial import Place

NEAREST = 200  # results with which a new one of a sequential method is compared
CATEGORY = 1e3  # the distance of two categories: the model takes nothing to be alike there
DISCOUNT = 0.3  # what a result from before the study weighs, next to one of its own
WEIGHTS = 1e-3, 1e3  # of a result, in units of a usual one


def model_of(spec: StudySpec, budget: int | None) -> Model:
    """The model of a study."""
    return Model(
        space=spec.space,
        units=np.array(spec.units),
        seed=spec.seed,
        maximize=spec.direction == "maximize",
        objective=spec.value_of,
        limits=[
            Limit(column, limit.get("min", -np.inf), limit.get("max", np.inf))
            for column, limit in enumerate(spec.limits.values())
        ],
        max_loss=spec.max_loss,
        max_loss_total=spec.max_loss_total,
        max_change=spec.max_change,
        budget=budget,
    )


def results_of(spec: StudySpec, entries: Sequence[Entry], *, history: bool = True) -> Results:
    """The results of trials that stand, as the model's arrays, by default after those from before the study.

    Time is the order of the days that results are of. Early values count as the final ones that are to be
    expected. What was before the study is in a context of its own, with a level of its own.
    """
    rows, said = [entry.stands for entry in entries], [entry.beside for entry in entries]
    value = np.array([np.nan if row is None or row.value is None else row.value for row in rows], float)
    sems = [None if row is None else row.sem for row in rows]
    weight = np.clip(precision(sems, [one.n for one in said]), *WEIGHTS)
    if (soon := np.array([bool(one.early) for one in said], bool)).any():
        first = [next((row for row in e.happened if row.kind in ("complete", "held")), None) for e in entries]
        updated = np.array([any(row.kind == "updated" for row in e.happened) for e in entries], bool)
        before = np.array([np.nan if one is None or one.value is None else one.value for one in first], float)
        before = np.where(soon, value, np.where(updated, before, np.nan))
        value, share = foreseen(before, np.where(soon, np.nan, value))
        weight = weight * share
    if spec.relative_to_control:
        control = np.array([np.nan if one.control is None else one.control for one in said], float)
        known = np.isfinite(control)
        value = value - np.where(known, control, control[known].mean() if known.any() else 0.0)
    number = np.array([entry.number for entry in entries], float)
    at = [entry.at for entry in entries]
    order = np.argsort(np.array(at, float), kind="stable")
    number[order] = np.sort(number)
    past = spec.history if history else []
    when = [None if row["at"] is None else float(row["at"]) for row in past]

    def table(tables: Sequence[Mapping[str, float]], names: Sequence[str]) -> np.ndarray:
        listed = [[one.get(name, np.nan) for name in names] for one in tables]
        return np.array(listed, float).reshape(len(tables), len(names))

    contexts = [[*numbers_of(spec, row["context"])[: len(spec.contexts)], CATEGORY] for row in past]
    contexts += [numbers_of(spec, entry.context) for entry in entries]
    n, known = len(past) + len(entries), [row["covariates"] for row in past]
    return Results(
        x=np.array([row["x"] for row in past] + [entry.deployed for entry in entries], float).reshape(
            n, spec.dim
        ),
        number=np.concatenate([[row["day"] for row in past], number]),
        value=np.concatenate([np.array([row["value"] for row in past], float), value]),
        weight=np.concatenate([np.full(len(past), DISCOUNT), weight]),
        covariates=np.hstack(
            [table([*known, *(one.covariates for one in said)], spec.covariates), seasons(spec, [*when, *at])]
        ),
        context=np.array(contexts, float).reshape(n, len(spec.contexts) + bool(spec.history)),
        outputs=table([row["outputs"] for row in past] + [one.outputs for one in said], spec.outputs),
        metrics=table([{} for _ in past] + [one.metrics for one in said], list(spec.limits)),
    )


def seasons(spec: StudySpec, at: Sequence[float | None]) -> np.ndarray:
    """(n, k) 1 on each weekday, or in each month; NaN where the moment is not known.

    >>> from types import SimpleNamespace
    >>> seasons(SimpleNamespace(season=["weekday"]), [0.0]).argmax()  # a Thursday
    np.int64(3)
    """
    columns = [np.zeros((len(at), 0))]
    for season in spec.season:
        many = {"weekday": 7, "month": 12}[season]
        dates = [None if one is None else words.moment(one) for one in at]
        which = [
            np.nan if d is None else float(d.weekday() if season == "weekday" else d.month - 1) for d in dates
        ]
        one = np.array(which, float).reshape(-1, 1)
        columns.append(np.where(np.isnan(one), np.nan, one == np.arange(many)))
    return np.hstack(columns)


def numbers_of(spec: StudySpec, context: Mapping[str, str]) -> list[float]:
    """The number of each context's category, far from those of all others; one more with a history."""
    categories = [CATEGORY * known.index(context[name]) for name, known in spec.contexts.items()]
    return [*categories, *([0.0] if spec.history else [])]


class ModelRule:
    """The next decision and the recommendation of a study that uses the model."""

    def __init__(self, spec: StudySpec):
        self.spec = spec
        self._known: tuple[object, tuple[np.ndarray, Estimate | None]] | None = None

    def prepare(self, state: State, now: float) -> None:
        """The model computes in the transaction: what it says depends on the last result."""

    def replaced(self, state: State, entry: Entry) -> bool:
        """Whether a trial was handed out to another: no two trials of the model are the same."""
        return False

    def price(self, state: State, now: float) -> tuple[int, str]:
        """How many deployments of the budget a question begins, and what that is."""
        return 1, "the next deployment"

    def next(
        self, state: State, writer: Writer, context: Mapping[str, str], now: float
    ) -> tuple[Place, np.ndarray]:
        """The next decision: a function of the results that stand, the seed and the trial's number."""
        last = next(state.latest, None)
        if last is not None and last.asked.kind == "settle" and state.periods(last.x, now):
            return Place("method"), last.x  # what settles is held to its end
        results = results_of(self.spec, state.standing)
        model = model_of(self.spec, None if state.budget is None else state.budget - self.spec.reserve)
        here = numbers_of(self.spec, context)
        return Place("method"), model.ask(results, state.spent + 1, here, deployed=state.deployed)

    def recommend(
        self, state: State, context: Mapping[str, str], now: float
    ) -> tuple[np.ndarray, Estimate | None]:
        """The recommendation and its gain over the start.

        Trials that have evaluated it since the last one that searched do not move it.
        """
        key = (state.seen, tuple(context.items()))
        if self._known is None or self._known[0] != key:
            last = state.searched
            entries = [e for e in state.standing if e.number <= last]
            found = model_of(self.spec, state.budget).recommend(
                results_of(self.spec, entries), last + 1, numbers_of(self.spec, context)
            )
            self._known = key, (found.x, found.gain if entries else None)
        return self._known[1]

    def effects(self, state: State, now: float) -> tuple[Effect, ...]:
        """What each covariate adds to the value, and whether it moves with the decision."""
        spec, results = self.spec, results_of(self.spec, state.standing)
        known = np.isfinite(results.value) | (spec.value_of is not None)
        if not known.any():
            return tuple(Effect(name, 0, 0.0, None) for name in spec.covariates)
        each = model_of(spec, None).facts(results).effects()
        found: list[Effect] = []
        for name, column, size in zip(spec.covariates, results.covariates.T, each, strict=False):
            known = np.isfinite(column)
            spread = float(column[known].std()) if known.any() else 0.0
            chance = p_value(results.x, column, results.number, len(spec.covariates))
            found.append(Effect(name, int(known.sum()), float(size) / spread if spread > 0 else 0.0, chance))
        return tuple(found)

    def verify(self, state: State, now: float) -> None:
        """Nothing is replayed: the model is a function of the set of results."""


def outlier(state: State, entry: Entry, said: Happened) -> str | None:
    """Why a new result is implausible, given those that stand; None: it is plausible."""
    spec = state.spec
    others = [one for one in state.standing if one.asked.id != entry.asked.id]
    if not spec.uses_model:  # a window that moves in steps: its scale is not found again for every result
        others = others[max(0, len(others) - NEAREST) // 40 * 40 :]
    new = replace(entry, happened=[])
    new.take(said._replace(kind="complete"))
    why = model_of(spec, None).outlier(results_of(spec, others), results_of(spec, [new], history=False))
    return None if why is None else f"the result is {why}"
