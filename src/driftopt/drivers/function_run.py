"""One run of `minimize`: it calls the function, counts every query and keeps every value."""

from array import array
from collections.abc import Sequence
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from driftopt import averages, checks
from driftopt.answers import Answer, Answers
from driftopt.answers.answers import NOTHING
from driftopt.answers.control import RelativeToControl, report
from driftopt.answers.covariates import Covariates
from driftopt.answers.effects import found
from driftopt.answers.limits import Limits, measured
from driftopt.drivers.host import Host
from driftopt.drivers.late_queries import late_queries
from driftopt.drivers.observed_host import ObservedHost, Watched
from driftopt.drivers.recorded_function import RecordedFunction
from driftopt.drivers.result import MinimizeResult
from driftopt.oracle import Formula
from driftopt.space import Space

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

RESERVED = 1 << 21  # numbers for which memory is reserved at most from the start: 16 MiB
MESSAGES = {
    0: "The budget is spent.",
    1: "The function failed.",
    2: "Interrupted.",
    3: "The method has diverged: a number would have overflowed.",
    99: "`callback` raised `StopIteration`.",
}


class MinimizeError(RuntimeError):
    """The function failed or gave no finite number; `result` holds everything up to that query."""

    def __init__(self, message: str, result: "OptimizeResult"):
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.result)  # for process pools


class NotFinite(MinimizeError):
    """A value, or a number that the method computed from it, was NaN or infinite."""


class MinimizeInterrupted(KeyboardInterrupt):
    """Ctrl-C; `result` holds everything up to the last query."""

    def __init__(self, result: "OptimizeResult"):
        super().__init__("minimize was interrupted")
        self.result = result

    def __reduce__(self) -> Any:
        return type(self), (self.result,)


class FunctionRun:
    """The function of one run with all its queries and values."""

    host: Host | ObservedHost
    begun: np.ndarray  # the method's start
    params: dict[str, Any]
    budget: int = 0  # the expected number of queries

    def __init__(self, fun: Any, args: Any, space: Space, answers: Answers, vectorized: bool, settle: int):
        self.space, self._answers, self._memory = space, answers, answers.begin()
        self._fun: Any = fun
        self._args, self._vectorized, self._settle = args, vectorized, settle
        self._ends = [0]  # the queries spent after each iteration
        self._values = array("d")  # appends a value in a third of the time that NumPy takes to set one
        self._points = np.empty((0, space.dim))  # rows after the first `spent` are reserved
        self.final: np.ndarray | None = None
        self.recorded: RecordedFunction | None = None  # records side information, if there is any

    @property
    def spent(self) -> int:
        """The number of queries so far."""
        return len(self._values)

    def iterate(self) -> int:
        """Run one iteration and return the queries that it cost."""
        host, before = self.host, self.spent
        points = self.space.deploy(host.points, (self.params["seed"], host.told))
        if (straight := self._straight) is not None:  # the common case first, since it takes ten microseconds
            straight.tell(self._each(points))
        elif isinstance(host, ObservedHost):
            self._query(np.repeat(points, host.samples, axis=0))
            host.tell(self._fun.take()[self._settle - 1 :: self._settle])
        else:
            samples = self._scheduled(points) if host.method.scheduled else self._rows(points, host.repeats)
            information = NOTHING
            if self.recorded is not None:
                used = self.recorded.last(samples.size * self._settle, self._settle)
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
        host, more = self.host, self.recorded is not None or self._memory or self._settle > 1
        if more or isinstance(host, ObservedHost):
            return None
        return host if host.repeats == 1 and not host.method.scheduled else None

    def _rows(self, points: np.ndarray, repeats: int) -> np.ndarray:
        """Fresh values (repeats, p) at the points."""
        values = self._query(np.tile(points, (repeats, 1)) if repeats > 1 else points)
        return values[None] if repeats == 1 else values.reshape(repeats, len(points))

    def _scheduled(self, points: np.ndarray) -> np.ndarray:
        """Means (1, p) of this iteration's own batch at each point; 0 at a point without samples."""
        samples = np.broadcast_to(self.host.method.samples(self.host.told, self.space.dim), len(points))
        values = self._query(np.repeat(points, samples, axis=0))
        each = np.split(values, np.cumsum(samples)[:-1])
        return np.array([[part.mean() if part.size else 0.0 for part in each]])

    def note(self, covariates: Sequence[str], metrics: Sequence[str]) -> None:
        """Record side information, which the function returns from now on."""
        self._fun = self.recorded = RecordedFunction(
            self._fun, covariates, metrics, self._vectorized, self._answers.has(RelativeToControl)
        )

    def watch(self, loss: Formula, keep: bool) -> None:
        """Take the function as one that draws ξ; its value is then F(x; ξ)."""
        self._fun = Watched(self._fun, loss, keep)

    def confirm(self, count: int) -> int:
        """Spend `count` queries at the reported decision."""
        self.final = np.array(self._each(np.tile(self.x, (count, 1))))
        return count

    @property
    def x(self) -> np.ndarray:
        return self.space.report(self.host.recommend(), self.begun)

    @property
    def latest(self) -> float:
        """The mean value of the last iteration, which is noisy and not an estimate of f(x)."""
        return float(averages.mean(np.array(self._values[self._ends[-2] : self._ends[-1]])))

    def so_far(self) -> "OptimizeResult":
        """The result that a callback gets after an iteration."""
        return MinimizeResult(x=self.x, fun=self.latest, nfev=self.spent, nit=self.host.told)

    def result(self, status: int) -> "OptimizeResult":
        """Everything so far in SciPy's form."""
        where, basis = self._best_known()
        every = np.array(self._values)
        values, points = every[where], self._points
        history = {
            "x": points if len(points) == self.spent else points[: self.spent].copy(),
            "value": every,
            "iteration": np.searchsorted(self._ends[1:], np.arange(self.spent), side="right"),
        }
        more: dict[str, Any] = {}
        if self.recorded is not None:
            if self._answers.has(Covariates):
                history["covariates"] = self.recorded.covariates(self.spent)
                more["covariates"] = found(self._answers, self._memory, history)
            if self._answers.has(Limits):
                history["metrics"] = self.recorded.metrics(self.spent)
                more["metrics"] = measured(self.recorded.metric_names, history["metrics"][where])
            if self._answers.has(RelativeToControl):
                more["control"] = report(self._answers.memory_of(self._memory, RelativeToControl))
        return MinimizeResult(
            **more,
            x=self.x,
            fun=float(averages.mean(values)) if values.size else None,
            fun_sem=averages.standard_error(values) if values.size > 1 else None,
            fun_basis=basis,
            nfev=self.spent,
            nit=self.host.told,
            success=status == 0,
            status=status,
            message=MESSAGES[status],
            params=self.params,
            history=history,
        )

    def _best_known(self) -> tuple[np.ndarray, str]:
        """The queries nearest to f at x, chosen by their time and not by their values, and a description."""
        if self.final is not None:
            last = np.arange(self.spent - self.final.size, self.spent)
            return last, f"{self.final.size} values at x"
        if len(self._ends) == 1:
            return np.empty(0, int), "no iteration is complete"
        asked = late_queries(self.host.method, self.space.dim, np.asarray(self._ends), self._settle)
        away = self.space.distances(self._points[asked.queries], self.x)
        far = float(averages.mean(np.minimum(away, averages.LARGEST)))
        return asked.queries, f"{asked.basis}, {far:.2g} from x on average"

    def _query(self, points: np.ndarray) -> np.ndarray:
        """The values at all points, each held for `settle` queries of which the last is used."""
        repeated = np.repeat(points, self._settle, axis=0) if self._settle > 1 else points
        return np.array(self._each(repeated))[self._settle - 1 :: self._settle]

    def _each(self, points: np.ndarray) -> Any:
        """The values at all points; each is kept immediately, so that a failure loses none.

        The function owns the rows of `points`: it may keep and change them.
        """
        self._write_down(points)
        values, before = self._values, self.spent
        if self._vectorized:
            try:
                returned = self._fun(points.copy(), *self._args)
            except Exception as error:
                raise self._failure(f"raised {type(error).__name__}: {error}") from error
            values.frombytes(self._checked(returned, points).tobytes())
            return values[before:]
        fun, args = self._fun, self._args
        for point in points:
            try:
                value = fun(point, *args)
            except Exception as error:
                raise self._failure(f"raised {type(error).__name__}: {error}") from error
            # The common case first: this line runs for every query.
            plain = isinstance(value, float) and isfinite(value)
            values.append(value if plain else self._checked(value, None)[0])
        return values[before:]

    def _write_down(self, points: np.ndarray) -> None:
        """Keep the points of the next queries; each counts once it has a value."""
        begin = self.spent
        end = begin + len(points)
        if end > len(self._points):
            # Reserve memory for all of a short run; later as much again, so that long runs seldom copy it.
            more = max(end, min(self.budget, RESERVED // self.space.dim))
            self._points = np.concatenate([self._points, np.empty((more, self.space.dim))])
        self._points[begin:end] = points

    def _checked(self, returned: Any, points: np.ndarray | None) -> np.ndarray:
        """The returned value for one point, or the values for all `points`, as finite numbers."""
        try:
            array = np.asarray(checks.unmasked(returned))
        except Exception as error:
            raise self._failure(f"gave {checks.brief(returned)}, which is not a number") from error
        if array.dtype.kind not in "iufb":
            raise self._failure(f"gave {checks.brief(returned)}, which is not a real number")
        values, count = array.astype(float).ravel(), 1 if points is None else len(points)
        if values.size != count:
            raise self._failure(f"gave {values.size} values, expected {count}")
        if not np.isfinite(values).all():  # fast in the common case
            refused = np.array([self._answers.judge(Answer(value)) is not None for value in values.tolist()])
            bad, query = int(refused.argmax()), self.spent + 1
            if points is not None:
                self._write_down(points[~refused])
                self._values.frombytes(values[~refused].tobytes())
            raise self._failure(f"gave {values[bad]}; values must be finite", query + bad, NotFinite)
        return values

    def _failure(
        self, what: str, query: int | None = None, kind: type[MinimizeError] = MinimizeError
    ) -> MinimizeError:
        """The error for a query, with the result so far."""
        return kind(f"query {query or self.spent + 1}: the function {what}", self.result(1))
