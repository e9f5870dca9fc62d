"""One run of `minimize`: the function called, every query counted, every value kept as it comes."""

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

ROOM = 1 << 21  # numbers for which there is room at once where the budget needs as many: 16 MiB
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
        return type(self), (str(self), self.result)  # or no process pool can bring it back


class NotFinite(MinimizeError):
    """A value, or what the method made of it, was NaN or infinite; any other failure is one to mend."""


class MinimizeInterrupted(KeyboardInterrupt):
    """Ctrl-C; `result` holds everything up to the last query."""

    def __init__(self, result: "OptimizeResult"):
        super().__init__("minimize was interrupted")
        self.result = result

    def __reduce__(self) -> Any:
        return type(self), (self.result,)


class FunctionRun:
    """One run's oracle and everything spent on it."""

    host: Host | ObservedHost
    begun: np.ndarray  # where the method's walk began
    params: dict[str, Any]
    budget: int = 0  # queries that will be made, as far as is known

    def __init__(self, fun: Any, args: Any, space: Space, answers: Answers, vectorized: bool, settle: int):
        self.space, self._answers, self._memory = space, answers, answers.begin()
        self._fun: Any = fun
        self._args, self._vectorized, self._settle = args, vectorized, settle
        self._ends = [0]  # how many queries were spent after each iteration
        self._values = array("d")  # grown by one value in a third of the time that NumPy takes to set one
        self._points = np.empty((0, space.dim))  # behind the first `spent`: room
        self.final: np.ndarray | None = None
        self.recorded: RecordedFunction | None = None  # what came beside the values, where anything does

    @property
    def spent(self) -> int:
        """How many queries were made."""
        return len(self._values)

    def iterate(self) -> int:
        """One iteration; returns the queries it cost."""
        host, before = self.host, self.spent
        points = self.space.deploy(host.points, (self.params["seed"], host.told))
        if (straight := self._straight) is not None:  # the common case first, every twenty microseconds
            straight.tell(self._each(points))
        elif isinstance(host, ObservedHost):
            self._query(np.repeat(points, host.samples, axis=0))
            host.tell(self._fun.take()[self._settle - 1 :: self._settle])
        else:
            samples = self._scheduled(points) if host.method.scheduled else self._rows(points, host.repeats)
            beside = NOTHING if self.recorded is None else self._recorded_beside(self.recorded, samples)
            self._memory, means = self._answers.take(self._memory, samples, beside)
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
        """The host, where it is told the function's values as they are: one a point, no step on the way."""
        host, more = self.host, self.recorded is not None or self._memory or self._settle > 1
        if more or isinstance(host, ObservedHost):
            return None
        return host if host.repeats == 1 and not host.method.scheduled else None

    def _rows(self, points: np.ndarray, repeats: int) -> np.ndarray:
        """(repeats, p) fresh values at the points."""
        values = self._query(np.tile(points, (repeats, 1)) if repeats > 1 else points)
        return values[None] if repeats == 1 else values.reshape(repeats, len(points))

    def _scheduled(self, points: np.ndarray) -> np.ndarray:
        """(1, p) means, where this iteration has a batch of its own; 0 at a point that has none."""
        samples = np.broadcast_to(self.host.method.samples(self.host.told, self.space.dim), len(points))
        values = self._query(np.repeat(points, samples, axis=0))
        each = np.split(values, np.cumsum(samples)[:-1])
        return np.array([[part.mean() if part.size else 0.0 for part in each]])

    def _recorded_beside(self, recorded: RecordedFunction, samples: np.ndarray) -> dict[str, Any]:
        """What came with this iteration's values."""
        told = recorded.last(samples.size * self._settle, self._settle)
        return dict(self._answers.beside(told, samples.shape))

    def note(self, covariates: Sequence[str], metrics: Sequence[str]) -> None:
        """From now on the function returns more than a value."""
        self._fun = self.recorded = RecordedFunction(
            self._fun, covariates, metrics, self._vectorized, self._answers.has(RelativeToControl)
        )

    def watch(self, loss: Formula, keep: bool) -> None:
        """From now on the function draws ξ, and its value is F(x; ξ)."""
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
        """The mean value of the last iteration: noisy, around the iterate, no estimate of f(x)."""
        return float(averages.mean(np.array(self._values[self._ends[-2] : self._ends[-1]])))

    def so_far(self) -> "OptimizeResult":
        """What a callback is shown after an iteration."""
        return MinimizeResult(x=self.x, fun=self.latest, nfev=self.spent, nit=self.host.told)

    def result(self, status: int) -> "OptimizeResult":
        """Everything so far in SciPy's form."""
        where, basis = self._known()
        told = np.array(self._values)
        values, points = told[where], self._points
        history = {
            "x": points if len(points) == self.spent else points[: self.spent].copy(),
            "value": told,
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

    def _known(self) -> tuple[np.ndarray, str]:
        """The queries that say most about f at x, chosen by when they were asked, not by what they gave."""
        if self.final is not None:
            last = np.arange(self.spent - self.final.size, self.spent)
            return last, f"{self.final.size} values at x"
        told = len(self._ends) - 1
        if not told:
            return np.empty(0, int), "no iteration is complete"
        asked = late_queries(self.host.method, self.space.dim, np.asarray(self._ends), self._settle)
        away = self.space.distances(self._points[asked.queries], self.x)
        far = float(averages.mean(np.minimum(away, averages.LARGEST)))
        return asked.queries, f"{asked.basis}, {far:.2g} from x on average"

    def _query(self, points: np.ndarray) -> np.ndarray:
        """The values at all points, each held for `settle` queries of which the last is used."""
        held = np.repeat(points, self._settle, axis=0) if self._settle > 1 else points
        return np.array(self._each(held))[self._settle - 1 :: self._settle]

    def _each(self, points: np.ndarray) -> Any:
        """The values at all points; each is kept as soon as it is there, so that a failure loses none.

        The function is given the rows of `points` for its own: it may keep and change them.
        """
        self._write_down(points)
        values, before = self._values, self.spent
        if self._vectorized:
            try:
                answers = self._fun(points.copy(), *self._args)
            except Exception as error:
                raise self._raised(error) from error
            values.frombytes(self._checked(answers, points).tobytes())
            return values[before:]
        fun, args = self._fun, self._args
        for point in points:
            try:
                answer = fun(point, *args)
            except Exception as error:
                raise self._raised(error) from error
            # The common case first: this line runs for every query.
            plain = isinstance(answer, float) and isfinite(answer)
            values.append(answer if plain else self._checked(answer, None)[0])
        return values[before:]

    def _write_down(self, points: np.ndarray) -> None:
        """Keep the points of the next queries: each counts once its value is there."""
        begin = self.spent
        end = begin + len(points)
        if end > len(self._points):
            # Room for all of a short run; later as much again, so that a long one seldom moves its history.
            more = max(end, min(self.budget, ROOM // self.space.dim))
            self._points = np.concatenate([self._points, np.empty((more, self.space.dim))])
        self._points[begin:end] = points

    def _raised(self, error: Exception) -> MinimizeError:
        return self._failure(f"raised {type(error).__name__}: {error}")

    def _checked(self, answer: Any, points: np.ndarray | None) -> np.ndarray:
        """The answer for one point, or for all `points` at once, as finite numbers."""
        try:
            found = np.asarray(checks.unmasked(answer))
        except Exception as error:
            raise self._failure(f"gave {checks.brief(answer)}, which is no number") from error
        if found.dtype.kind not in "iufb":
            raise self._failure(f"gave {checks.brief(answer)}, which is no real number")
        found, count = found.astype(float).ravel(), 1 if points is None else len(points)
        if found.size != count:
            raise self._failure(f"gave {found.size} values, expected {count}")
        if not np.isfinite(found).all():  # quick where all is well
            refused = np.array([self._answers.judge(Answer(value)) is not None for value in found.tolist()])
            bad, query = int(refused.argmax()), self.spent + 1
            if points is not None:
                self._write_down(points[~refused])
                self._values.frombytes(found[~refused].tobytes())
            raise self._failure(f"gave {found[bad]}; values must be finite", query + bad, NotFinite)
        return found

    def _failure(
        self, what: str, query: int | None = None, kind: type[MinimizeError] = MinimizeError
    ) -> MinimizeError:
        return kind(f"query {query or self.spent + 1}: the function {what}", self.result(1))
