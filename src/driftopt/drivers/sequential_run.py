"""One run of `minimize` with a sequential method: it asks for points, the function gives the values."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftopt import averages, checks, methods
from driftopt.answers.answers import NOTHING, Answers
from driftopt.answers.covariates import Covariates
from driftopt.answers.effects import found
from driftopt.answers.limits import Limits, measured
from driftopt.checks import as_seed
from driftopt.drivers.contract import check_points
from driftopt.drivers.function_run import FunctionRun, NotFinite, Task, mean_of
from driftopt.drivers.host import Host
from driftopt.drivers.observed_host import ObservedHost, Watched, within
from driftopt.drivers.plan import affordable, first_step
from driftopt.drivers.recorded_function import RecordedFunction
from driftopt.method import Method
from driftopt.methods import defaults
from driftopt.oracle import Model, check_minimize

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

UNSETTLED = (
    " But x may not be stationary: the last steps still lead one way, or trials became too short to see "
    "slopes. A larger budget or another radius may find a better x."
)
PART = 8  # one in so many of the queries is late
LEAST = 4  # but no fewer than this


class Late(NamedTuple):
    """The queries that say what f is where a run ended, without a query more.

    A value asked at a decision is unbiased for f there. A choice of values by what they are is not: the best
    value seen is the luckiest draw. So the choice is by when they were asked, and by where, as planned.
    """

    queries: np.ndarray  # their numbers, from 0
    basis: str  # what they are, in words


def late_queries(method: Method, dim: int, ends: np.ndarray, settle: int) -> Late:
    """The last eighth of the queries at the iterate itself, where a method makes such; else of all.

    `ends` are the queries spent after 0, 1, … iterations; each decision is held for `settle` of them, and the
    last one counts.
    """
    counted = np.zeros(ends[-1], bool)
    counted[settle - 1 :: settle] = True
    here = np.zeros(ends[-1], bool)
    if not method.scheduled:  # all iterations cost the same
        at_iterate = method.at_iterate(np.arange(len(ends) - 1), dim)
        repeats = ends[1] // (settle * at_iterate.shape[1])
        here = np.repeat(np.tile(at_iterate, (1, repeats)).ravel(), settle)
    where = "at the walk's own decisions" if (found := counted & here).any() else "at trial decisions"
    queries = np.flatnonzero(found if found.any() else counted)
    late = queries[-max(LEAST, len(queries) // PART) :]
    return Late(late, f"the last {len(late)} values {where}")


class SequentialRun(FunctionRun):
    """The function, and the method on its host."""

    def __init__(self, task: Task, method: str | Method):
        settle, usable = task.settle, task.budget - task.final_queries
        more = {} if task.max_radius is None else {"max_radius": task.max_radius}
        space, chosen, numbers = defaults.chosen(
            method, task.space, budget=task.decisions, radius=task.radius, params=more | task.params
        )
        called = method if isinstance(method, str) else type(method).__name__
        check_minimize(called, chosen.sees, loss=task.loss is not None, model=task.law is not None)
        if task.law is not None and not isinstance(task.law, Model):
            raise ValueError(f"model must be a driftopt.oracle.Model, got {checks.brief(task.law)}")
        if (task.by_name or task.covariates) and chosen.scheduled:
            raise ValueError("covariates, limits, control and precision need a method of one batch")
        check_points(chosen, space.dim)
        space.check_trials(numbers.get("max_radius") if chosen.finds_radius else chosen.radius)
        queries = checks.budget(usable, settle * first_step(chosen, space.dim)) // settle
        seed = as_seed(task.rng)
        sizes = {key: given for key, given in space.given.items() if key == "units"}
        known = methods.entry(method).defaults if isinstance(method, str) else {}
        params = {"method": called, **known, **numbers, **sizes, "seed": seed}
        super().__init__(task, space, affordable(chosen, space.dim, queries).iterations, params)
        self._answers = Answers.build(
            direction="maximize" if task.maximize else "minimize",
            covariates=task.covariates,
            limits=task.limits,
            relative_to_control=task.relative_to_control,
            precision=task.precision,
        )
        self._memory = self._answers.begin()
        self.begun = space.begin(float(np.asarray(chosen.radius)))  # the method's start
        self.sign = -1 if task.maximize else 1
        if task.loss is not None:
            self.fun = Watched(task.fun, task.loss, keep=chosen.sees.observes)
        self.host: Host | ObservedHost
        if chosen.sees.observes:
            assert task.loss is not None
            formula = within(task.loss, space, self.sign)
            self.host = ObservedHost(chosen, self.begun, seed, formula, task.law, queries)
        else:
            self.host = Host(chosen, self.begun, seed, soon=True)

    def iterate(self) -> int:
        """Run one iteration and return the queries that it cost."""
        host, before = self.host, self.spent
        points = self.space.deploy(host.points, (self.params["seed"], host.told))
        if (straight := self._straight) is not None:  # the common case first, since it takes ten microseconds
            straight.tell(self._each(points))
        elif isinstance(host, ObservedHost):
            self._query(np.repeat(points, host.samples, axis=0))
            host.tell(self.fun.take()[self.task.settle - 1 :: self.task.settle])
        else:
            if host.method.scheduled:  # each point has its own batch, whose mean counts: 0 without samples
                counts = np.broadcast_to(host.method.samples(host.told, self.space.dim), len(points))
                values = self._query(np.repeat(points, counts, axis=0))
                each = np.split(values, np.cumsum(counts)[:-1])
                samples = np.array([[part.mean() if part.size else 0.0 for part in each]])
            else:
                samples = self._query(np.tile(points, (host.repeats, 1))).reshape(host.repeats, -1)
            information = NOTHING
            if self.recorded is not None:
                used = self.recorded.last(samples.size * self.task.settle, self.task.settle)
                information = dict(self._answers.beside(used, samples.shape))
            self._memory, means = self._answers.take(self._memory, samples, information)
            host.tell(means)
        self._ends.append(self.spent)
        if host.diverged:
            raise NotFinite(
                f"after {self.spent} queries the method has diverged: a number would have overflowed; lower "
                "the step or leave it out, or give values in larger units",
                self.result(3),
            )
        return self.spent - before

    @cached_property
    def _straight(self) -> Host | None:
        """The host if it takes the function's values as they are, one a point; else None."""
        host, more = self.host, self.recorded is not None or self._memory or self.task.settle > 1
        if more or isinstance(host, ObservedHost):
            return None
        return host if host.repeats == 1 and not host.method.scheduled else None

    @property
    def x(self) -> np.ndarray:
        return self.space.report(self.host.recommend(), self.begun)

    def _late(self) -> Late:
        """The queries nearest to f at x, chosen by their time and not by their values."""
        return late_queries(self.host.method, self.space.dim, np.asarray(self._ends), self.task.settle)

    def estimate(self) -> tuple[float | None, float | None, str]:
        if not self.iterations:
            return None, None, "no iteration is complete"
        asked = self._late()
        away = self.space.distances(self._points[asked.queries], self.x)
        far = float(averages.mean(np.minimum(away, averages.LARGEST)))
        values = np.array(self._values)[asked.queries]
        return *mean_of(values), f"{asked.basis}, {far:.2g} from x on average"

    def result(self, status: int) -> "OptimizeResult":
        """Everything so far; the message says if x may not be stationary."""
        result = super().result(status)
        if status == 0 and self.iterations:
            fall = float(averages.mean(np.array(self._values[: self._ends[1]]))) - result.fun
            away = self.space.distance(result.x, self.space.start)
            method, state = self.host.method, self.host.state
            if not method.settled(state, self.sign * fall, away):
                result.message += UNSETTLED
        return result

    def information(self, recorded: RecordedFunction, history: dict[str, Any]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self._answers.has(Covariates):
            history["covariates"] = recorded.covariates(self.spent)
            more["covariates"] = found(self._answers, self._memory, history)
        if self._answers.has(Limits):
            history["metrics"] = recorded.metrics(self.spent)
            near = self._late().queries if self.iterations else np.empty(0, int)
            if self.final is not None:
                near = np.arange(self.spent - self.final.size, self.spent)
            more["metrics"] = measured(recorded.metric_names, history["metrics"][near])
        return more
