"""`minimize`: the front door for a noisy Python function, with SciPy's manners.

Each call of the function is one query. The function need not repeat itself: at the same point it may answer
differently, and its noise may depend on the point.
"""

import inspect
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from driftopt import averages, checks, methods
from driftopt.answers import Answer, Answers
from driftopt.drivers.contract import check_points
from driftopt.drivers.host import Host
from driftopt.drivers.quick_host import quick_host
from driftopt.drivers.result import MinimizeResult
from driftopt.method import Method
from driftopt.methods import defaults
from driftopt.rng.seeds import as_seed
from driftopt.space import Space

MESSAGES = {
    0: "The budget is spent.",
    1: "The function failed.",
    2: "Interrupted.",
    3: "The method has diverged: a number would have overflowed.",
    99: "`callback` raised `StopIteration`.",
}


class MinimizeError(RuntimeError):
    """The function failed or gave no finite number; `result` holds everything up to that query."""

    def __init__(self, message: str, result: OptimizeResult):
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.result)  # or no process pool can bring it back


class MinimizeInterrupted(KeyboardInterrupt):
    """Ctrl-C; `result` holds everything up to the last query."""

    def __init__(self, result: OptimizeResult):
        super().__init__("minimize was interrupted")
        self.result = result

    def __reduce__(self) -> Any:
        return type(self), (self.result,)


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    *,
    budget: int,
    radius: Any = None,
    method: str | Method = "auto",
    params: Mapping[str, Any] | None = None,
    bounds: Any = None,
    direction: str = "minimize",
    vectorized: bool = False,
    final_queries: int = 0,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    args: tuple[Any, ...] = (),
) -> OptimizeResult:
    """Minimise E[fun(x)] with `budget` noisy values of fun.

    Args:
        fun: x of shape (d,) → a number. With `vectorized`, points of shape (n, d) → n numbers.
        x0: where to start; or a `Space`, which holds the start and its bounds.
        budget: how many values of `fun` may be spent, `final_queries` included. Never passed.
        radius: how far a trial decision may be from the current one, in the units of x; the same as
            params={"radius": …}. It may be left out where bounds are finite: then it is √d/10 of the
            narrowest width, as `params` reports.
        method: a name of `driftopt.methods.names()`, or a Method with its own numbers.
        params: the numbers of a named method. "auto" needs none; the two of O2NC without a step use the
            scale-free learner, and then block = T^(2/3) for T iterations unless given.
        bounds: pairs (low, high) or scipy's Bounds; every queried point is inside them.
        direction: "minimize" or "maximize".
        vectorized: whether `fun` takes several points at once.
        final_queries: spend so many of the budget at the reported x: `fun` is their mean, `fun_sem` its
            standard error. Without them `fun` is None: the best value seen is only the luckiest draw.
        rng: a whole number or a numpy Generator; None draws a seed, reported in `params`.
        callback: SciPy's `callback(intermediate_result)`, or `callback(x)`, after each iteration;
            StopIteration ends the run.
        progress: show a bar over the queries spent.
        args: further arguments of `fun`.

    Returns:
        scipy's OptimizeResult: x, fun, fun_sem, nfev, nit, success, status, message, params (all numbers
        used) and history (points x, their values, and the iteration of each; not printed).

    Raises:
        MinimizeError: `fun` failed or gave no finite number; the error holds the result up to there.
        MinimizeInterrupted: Ctrl-C; it holds the result up to there.

    >>> import numpy as np
    >>> noise = np.random.default_rng(0)
    >>> def fun(x):
    ...     return abs(x - 1).sum() + noise.normal()
    >>> result = minimize(fun, [0.0, 3.0], budget=4000, radius=0.5, rng=0)
    >>> result.nfev, bool(abs(result.x - 1).max() < 0.3)
    (4000, True)
    """
    radius, params = defaults.radius_once(radius, params)
    run = _Run(fun, args, Space.build(x0, bounds=bounds), Answers.build(direction=direction), vectorized)
    total = int(checks.count("budget", budget))
    if final_queries not in range(total):
        raise ValueError(f"final_queries must be a whole number from 0 to budget - 1, got {final_queries!r}")
    chosen, numbers = defaults.resolve(
        method,
        dim=run.space.dim,
        budget=total - int(final_queries),
        radius=run.space.radius if radius is None and isinstance(method, str) else radius,
        params=params,
    )
    check_points(chosen, run.space.dim)
    cost = int(chosen.queries(run.space.dim))
    iterations = checks.budget(total - int(final_queries), cost, 1 + chosen.warmup) // cost
    seed = as_seed(rng)
    run.params = {**_described(method), **numbers, "seed": seed}
    run.begun = run.space.begin(float(np.asarray(chosen.radius)))
    run.host, run.cost = quick_host(chosen, run.begun, seed), cost
    report = _reporter(callback)

    try:
        with _progress(progress, total) as advance:
            for _ in range(iterations):
                advance(run.iterate())
                if report(run):
                    return run.result(99)
            if final_queries:
                advance(run.confirm(int(final_queries)))
    except KeyboardInterrupt as stop:
        raise MinimizeInterrupted(run.result(2)) from stop
    return run.result(0)


def _described(method: str | Method) -> dict[str, Any]:
    """The method's name, and the numbers that stand where none were given."""
    if isinstance(method, Method):
        return {"method": type(method).__name__}
    return {"method": method, **methods.entry(method).defaults}


class _Run:
    """One run's oracle and everything spent on it."""

    host: Host
    begun: np.ndarray  # where the method's walk began
    cost: int  # queries of one iteration
    params: dict[str, Any]

    def __init__(self, fun: Any, args: Any, space: Space, answers: Answers, vectorized: bool):
        self.space, self._answers, self._memory = space, answers, answers.begin()
        self._fun, self._args, self._vectorized = fun, args, vectorized
        self.spent = 0
        self._points, self._values = np.empty((0, space.dim)), np.empty(0)  # behind the first `spent`: room
        self.final: np.ndarray | None = None

    def iterate(self) -> int:
        """One iteration; returns the queries it cost."""
        host, seed = self.host, self.params["seed"]
        points, repeats = self.space.deploy(host.points, (seed, host.told)), host.repeats
        values = self._query(np.tile(points, (repeats, 1)) if repeats > 1 else points)
        samples = values[None] if repeats == 1 else values.reshape(repeats, len(points))
        self._memory, means = self._answers.take(self._memory, samples)
        host.tell(means)
        if host.diverged:
            raise MinimizeError(
                f"after {self.spent} queries the method has diverged: a number would have overflowed; lower "
                "the step or leave it out, or give values in larger units",
                self.result(3),
            )
        return len(values)

    def confirm(self, count: int) -> int:
        """Spend `count` queries at the reported decision."""
        self.final = self._query(np.tile(self.x, (count, 1)))
        return count

    @property
    def x(self) -> np.ndarray:
        return self.space.report(self.host.recommend(), self.begun)

    @property
    def latest(self) -> float:
        """The mean value of the last iteration: noisy, around the iterate, no estimate of f(x)."""
        return float(averages.mean(self._values[self.spent - self.cost : self.spent]))

    def result(self, status: int) -> OptimizeResult:
        """Everything so far in SciPy's form."""
        final = self.final
        mean = None if final is None else float(averages.mean(final))
        sem = None if final is None or final.size < 2 else averages.standard_error(final)
        history = {
            "x": self._points[: self.spent].copy(),
            "value": self._values[: self.spent].copy(),
            "iteration": np.minimum(np.arange(self.spent) // self.cost, self.host.told),
        }
        return MinimizeResult(
            x=self.x,
            fun=mean,
            fun_sem=sem,
            nfev=self.spent,
            nit=self.host.told,
            success=status == 0,
            status=status,
            message=MESSAGES[status],
            params=self.params,
            history=history,
        )

    def _query(self, points: np.ndarray) -> np.ndarray:
        """The values at all points; each is kept as soon as it is there, so that a failure loses none."""
        values = self._room(points)
        if self._vectorized:
            values[:] = self._checked(self._call(points), points)
            self.spent += len(points)
            return values
        for i, point in enumerate(points):
            answer = self._call(point)
            # The common case first: this line runs for every query.
            plain = isinstance(answer, float) and isfinite(answer)
            values[i] = answer if plain else self._checked(answer, None)[0]
            self.spent += 1
        return values

    def _room(self, points: np.ndarray) -> np.ndarray:
        """Write the points down and give where their values go: both count once `spent` passes them."""
        end = self.spent + len(points)
        if end > len(self._values):
            more = max(end, 1024)  # at least as much again, so that a long run seldom moves its history
            self._points = np.concatenate([self._points, np.empty((more, self.space.dim))])
            self._values = np.concatenate([self._values, np.empty(more)])
        self._points[self.spent : end] = points
        return self._values[self.spent : end]

    def _call(self, point: np.ndarray) -> Any:
        try:
            return self._fun(point.copy(), *self._args)
        except Exception as error:
            raise self._failure(f"raised {type(error).__name__}: {error}") from error

    def _checked(self, answer: Any, points: np.ndarray | None) -> np.ndarray:
        """The answer for one point, or for all `points` at once, as finite numbers."""
        try:
            array = np.asarray(answer)
        except Exception as error:
            raise self._failure(f"gave {answer!r}, which is no number") from error
        if array.dtype.kind not in "iufb":
            raise self._failure(f"gave {answer!r}, which is no real number")
        array, count = array.astype(float).ravel(), 1 if points is None else len(points)
        if array.size != count:
            raise self._failure(f"gave {array.size} values, expected {count}")
        if not np.isfinite(array).all():  # quick where all is well
            refused = np.array([self._answers.judge(Answer(value)) is not None for value in array.tolist()])
            bad, query = int(refused.argmax()), self.spent + 1
            if points is not None:
                self._room(points[~refused])[:] = array[~refused]
                self.spent += int((~refused).sum())
            raise self._failure(f"gave {array[bad]}; values must be finite", query + bad)
        return array

    def _failure(self, what: str, query: int | None = None) -> MinimizeError:
        return MinimizeError(f"query {query or self.spent + 1}: the function {what}", self.result(1))


def _reporter(callback: Callable[..., Any] | None) -> Callable[[_Run], bool]:
    """Call the user's callback in the style it asks for; True means stop."""
    if callback is None:
        return lambda run: False
    whole = "intermediate_result" in inspect.signature(callback).parameters

    def report(run: _Run) -> bool:
        so_far = OptimizeResult(x=run.x, fun=run.latest, nfev=run.spent, nit=run.host.told)
        try:
            callback(intermediate_result=so_far) if whole else callback(so_far.x)
        except StopIteration:
            return True
        return False

    return report


class _progress:
    """A progress bar over queries, or nothing."""

    def __init__(self, show: bool, total: int):
        self._show, self._total = show, total

    def __enter__(self) -> Callable[[int], None]:
        if not self._show:
            return lambda spent: None
        from rich.progress import Progress

        self._bar = Progress(transient=True)
        self._bar.start()
        task = self._bar.add_task("queries", total=self._total)
        return lambda spent: self._bar.update(task, advance=spent)

    def __exit__(self, *exc: object) -> None:
        if self._show:
            self._bar.stop()


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    bounds: Any = None,
    callback: Callable[..., Any] | None = None,
    constraints: Any = (),
    **options: Any,
) -> OptimizeResult:
    """`minimize` as a method of scipy: `scipy.optimize.minimize(fun, x0, method=driftopt.scipy_method,
    options=dict(budget=…, radius=…))`.
    """
    unused = [name for name in ("jac", "hess", "hessp") if options.pop(name, None) not in (None, False)]
    unused += ["constraints"] if constraints else []
    if unused:
        raise ValueError(f"a zeroth-order method takes no {', '.join(unused)}")
    if options.pop("tol", None) is not None:
        raise ValueError("tol has no meaning under noise: set the budget")
    return minimize(fun, x0, args=args, bounds=bounds, callback=callback, **options)
