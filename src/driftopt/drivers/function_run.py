"""One run of `minimize`: it calls the function, counts every query and keeps every value."""

import inspect
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from driftopt import averages, checks
from driftopt.drivers.recorded_function import RecordedFunction
from driftopt.drivers.result import MinimizeResult
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


@dataclass(frozen=True)
class Task:
    """What `minimize` was asked for, checked as far as it does not depend on the method."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    space: Space
    budget: int
    final_queries: int
    settle: int  # queries for which each decision is held; the last one counts
    radius: Any
    max_radius: Any
    params: dict[str, Any]
    vectorized: bool
    maximize: bool
    covariates: Sequence[str]
    limits: dict[str, dict[str, Any]]
    relative_to_control: bool
    precision: bool
    loss: Any  # F(x, ξ), where the function draws ξ
    law: Any  # a model of the law of ξ
    rng: Any

    @property
    def by_name(self) -> bool:
        """Whether the function returns its value by name, with more."""
        return bool(self.limits or self.relative_to_control or self.precision)

    @property
    def decisions(self) -> int:
        """The decisions that the budget pays for."""
        return (self.budget - self.final_queries) // self.settle


class FunctionRun(ABC):
    """The function of one run with all its queries and values.

    Args:
        task: what `minimize` was asked for.
        space: the same decisions, in the method's units.
        planned: how many iterations the budget pays for.
        params: all numbers used, for the result.
    """

    def __init__(self, task: Task, space: Space, planned: int, params: dict[str, Any]):
        self.task, self.space, self.planned, self.params = task, space, planned, params
        self.fun: Any = task.fun
        self._ends = [0]  # the queries spent after each iteration
        self._values = array("d")  # appends a value in a third of the time that NumPy takes to set one
        self._points = np.empty((0, space.dim))  # rows after the first `spent` are reserved
        self.final: np.ndarray | None = None
        self.recorded: RecordedFunction | None = None  # records side information, if there is any
        if task.covariates or task.by_name:
            self.fun = self.recorded = RecordedFunction(
                self.fun, task.covariates, list(task.limits), task.vectorized, task.relative_to_control
            )

    def run(self, callback: Callable[..., Any] | None, progress: bool) -> "OptimizeResult":
        """Spend the budget; the callback is called in the style that it asks for."""
        whole = False
        with suppress(ValueError, TypeError):  # a function written in C may not say what it takes
            whole = "intermediate_result" in inspect.signature(callback).parameters  # pyright: ignore[reportArgumentType]
        with ExitStack() as block:
            advance: Callable[[int], Any] = lambda spent: None  # noqa: E731
            if progress:
                from rich.progress import Progress

                bar = block.enter_context(Progress(transient=True))
                advance = partial(bar.advance, bar.add_task("queries", total=self.task.budget))
            try:
                for _ in range(self.planned):
                    advance(self.iterate())
                    if callback is not None:
                        so_far = MinimizeResult(
                            x=self.x, fun=self._latest, nfev=self.spent, nit=self.iterations
                        )
                        try:
                            callback(intermediate_result=so_far) if whole else callback(so_far.x)
                        except StopIteration:
                            return self.result(99)
                if final := self.task.final_queries:
                    self.final = np.array(self._each(np.tile(self.x, (final, 1))))
                    advance(final)
            except KeyboardInterrupt as stop:
                raise MinimizeInterrupted(self.result(2)) from stop
        return self.result(0)

    @property
    def spent(self) -> int:
        """The number of queries so far."""
        return len(self._values)

    @property
    def iterations(self) -> int:
        """The number of complete iterations."""
        return len(self._ends) - 1

    @abstractmethod
    def iterate(self) -> int:
        """Run one iteration and return the queries that it cost."""

    @property
    @abstractmethod
    def x(self) -> np.ndarray:
        """The decision to report."""

    @abstractmethod
    def estimate(self) -> tuple[float | None, float | None, str]:
        """What the run knows of f at x without further queries: mean, standard error and their basis."""

    @abstractmethod
    def information(self, recorded: RecordedFunction, history: dict[str, Any]) -> dict[str, Any]:
        """What side information has shown, by name; adds it to the history as well."""

    @property
    def _latest(self) -> float:
        """The mean value of the last iteration, which is noisy and not an estimate of f(x)."""
        return float(averages.mean(np.array(self._values[self._ends[-2] : self._ends[-1]])))

    def result(self, status: int) -> "OptimizeResult":
        """Everything so far in SciPy's form."""
        if self.final is not None:
            fun, sem, basis = *mean_of(self.final), f"{self.final.size} values at x"
        else:
            fun, sem, basis = self.estimate()
        every, points = np.array(self._values), self._points
        history = {
            "x": points if len(points) == self.spent else points[: self.spent].copy(),
            "value": every,
            "iteration": np.searchsorted(self._ends[1:], np.arange(self.spent), side="right"),
        }
        more = {} if self.recorded is None else self.information(self.recorded, history)
        return MinimizeResult(
            **more,
            x=self.x,
            fun=fun,
            fun_sem=sem,
            fun_basis=basis,
            nfev=self.spent,
            nit=self.iterations,
            success=status == 0,
            status=status,
            message=MESSAGES[status],
            params=self.params,
            history=history,
        )

    def _query(self, points: np.ndarray) -> np.ndarray:
        """The values at all points, each held for `settle` queries of which the last is used."""
        settle = self.task.settle
        repeated = np.repeat(points, settle, axis=0) if settle > 1 else points
        return np.array(self._each(repeated))[settle - 1 :: settle]

    def _each(self, points: np.ndarray) -> Any:
        """The values at all points; each is kept immediately, so that a failure loses none.

        The function owns the rows of `points`: it may keep and change them.
        """
        self._write_down(points)
        fun, args, values, before = self.fun, self.task.args, self._values, len(self._values)
        if self.task.vectorized:
            try:
                returned = fun(points.copy(), *args)
            except Exception as error:
                raise self._failure(f"raised {type(error).__name__}: {error}") from error
            values.frombytes(self._checked(returned, points).tobytes())
            return values[before:]
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
            more = max(end, min(self.task.budget, RESERVED // self.space.dim))
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
            refused = ~np.isfinite(values)
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


def mean_of(values: np.ndarray) -> tuple[float | None, float | None]:
    """Mean and standard error of some values; None where there are too few."""
    mean = float(averages.mean(values)) if values.size else None
    return mean, averages.standard_error(values) if values.size > 1 else None
