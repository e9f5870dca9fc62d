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
from driftopt.drivers.observed_host import ObservedHost, Watched, within
from driftopt.drivers.plan import affordable, first_step
from driftopt.drivers.quick_host import quick_host
from driftopt.drivers.result import MinimizeResult
from driftopt.method import Method
from driftopt.methods import defaults
from driftopt.oracle import Formula, Model, check_minimize
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
    loss: Formula | None = None,
    model: Model | None = None,
    settle: int = 1,
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
        loss: F(x, ξ) as a JAX function; `fun` then returns ξ, what was observed, and not the value. Needed by
            methods that see ξ; any other method is told F(x, ξ).
        model: for methods that fit one, a driftopt.oracle.Model of the law of ξ.
        settle: hold each decision for so many calls of `fun` and use the last, where the world has a memory.
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
    if loss is not None and vectorized:
        raise ValueError("with `loss=` the function draws one ξ at a time: leave vectorized out")
    settle = checks.shape("settle", settle)
    space, answers = Space.build(x0, bounds=bounds), Answers.build(direction=direction)
    run = _Run(fun, args, space, answers, vectorized, settle)
    total = int(checks.count("budget", budget))
    if final_queries not in range(total):
        raise ValueError(f"final_queries must be a whole number from 0 to budget - 1, got {final_queries!r}")
    chosen, numbers = defaults.resolve(
        method,
        dim=space.dim,
        budget=(total - int(final_queries)) // settle,
        radius=space.radius if radius is None and defaults.takes_radius(method) else radius,
        params=params,
    )
    named = method if isinstance(method, str) else type(method).__name__
    check_minimize(named, chosen.sees, loss=loss is not None, model=model is not None)
    check_points(chosen, space.dim)
    queries = checks.budget(total - int(final_queries), settle * first_step(chosen, space.dim))
    iterations = affordable(chosen, space.dim, queries // settle).iterations
    seed = as_seed(rng)
    run.params = {**_described(method), **numbers, "seed": seed}
    run.begun = space.begin(float(np.asarray(chosen.radius)))
    if loss is not None:
        run.watch(loss, keep=chosen.sees.observes)
    if chosen.sees.observes:
        assert loss is not None
        formula = within(loss, space, -1 if direction == "maximize" else 1)
        run.host = ObservedHost(chosen, run.begun, seed, formula, model, queries // settle)
    else:
        run.host = quick_host(chosen, run.begun, seed)
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

    host: Host | ObservedHost
    begun: np.ndarray  # where the method's walk began
    params: dict[str, Any]

    def __init__(self, fun: Any, args: Any, space: Space, answers: Answers, vectorized: bool, settle: int):
        self.space, self._answers, self._memory = space, answers, answers.begin()
        self._fun, self._args, self._vectorized, self._settle = fun, args, vectorized, settle
        self.spent, self._ends = 0, [0]  # queries spent, and how many they were after each iteration
        self._points, self._values = np.empty((0, space.dim)), np.empty(0)  # behind the first `spent`: room
        self.final: np.ndarray | None = None

    def iterate(self) -> int:
        """One iteration; returns the queries it cost."""
        host, seed = self.host, self.params["seed"]
        points = self.space.deploy(host.points, (seed, host.told))
        if isinstance(host, ObservedHost):
            self._query(np.repeat(points, host.samples, axis=0))
            host.tell(self._fun.take()[self._settle - 1 :: self._settle])
        else:
            samples = self._scheduled(points) if host.method.scheduled else self._rows(points, host.repeats)
            self._memory, means = self._answers.take(self._memory, samples)
            host.tell(means)
        self._ends.append(self.spent)
        if host.diverged:
            raise MinimizeError(
                f"after {self.spent} queries the method has diverged: a number would have overflowed; lower "
                "the step or leave it out, or give values in larger units",
                self.result(3),
            )
        return self.spent - self._ends[-2]

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

    def watch(self, loss: Formula, keep: bool) -> None:
        """From now on the function draws ξ, and its value is F(x; ξ)."""
        self._fun = Watched(self._fun, loss, keep)

    def confirm(self, count: int) -> int:
        """Spend `count` queries at the reported decision."""
        self.final = self._each(np.tile(self.x, (count, 1)))
        return count

    @property
    def x(self) -> np.ndarray:
        return self.space.report(self.host.recommend(), self.begun)

    @property
    def latest(self) -> float:
        """The mean value of the last iteration: noisy, around the iterate, no estimate of f(x)."""
        return float(averages.mean(self._values[self._ends[-2] : self._ends[-1]]))

    def result(self, status: int) -> OptimizeResult:
        """Everything so far in SciPy's form."""
        final = self.final
        mean = None if final is None else float(averages.mean(final))
        sem = None if final is None or final.size < 2 else averages.standard_error(final)
        history = {
            "x": self._points[: self.spent].copy(),
            "value": self._values[: self.spent].copy(),
            "iteration": np.searchsorted(self._ends[1:], np.arange(self.spent), side="right"),
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
        """The values at all points, each held for `settle` queries of which the last is used."""
        if self._settle == 1:
            return self._each(points)
        return self._each(np.repeat(points, self._settle, axis=0))[self._settle - 1 :: self._settle]

    def _each(self, points: np.ndarray) -> np.ndarray:
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
