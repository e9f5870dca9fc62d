"""`minimize`: the front door for a noisy Python function, with SciPy's manners.

Each call of the function is one query. The function need not repeat itself: at the same point it may answer
differently, and its noise may depend on the point.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from driftopt import checks
from driftopt.answers import beside
from driftopt.answers.limits import checked, none_hard
from driftopt.drivers.function_run import FunctionRun, Task
from driftopt.model import takes_model
from driftopt.packages import needs_jax
from driftopt.space import Space

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    from driftopt.method import Method
    from driftopt.oracle import Formula, Model


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    *,
    budget: int,
    radius: Any = None,
    max_radius: Any = None,
    method: "str | Method" = "auto",
    params: Mapping[str, Any] | None = None,
    bounds: Any = None,
    constraints: Any = None,
    grid: Any = None,
    direction: str = "minimize",
    vectorized: bool = False,
    loss: "Formula | None" = None,
    model: "Model | None" = None,
    settle: int = 1,
    covariates: Sequence[str] | None = None,
    limits: Mapping[str, Mapping[str, Any]] | None = None,
    relative_to_control: bool = False,
    precision: bool = False,
    final_queries: int = 0,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
    progress: bool = False,
    args: tuple[Any, ...] = (),
) -> "OptimizeResult":
    """Minimise E[fun(x)] with `budget` noisy values of fun.

    Args:
        fun: x of shape (d,) → a number. With `vectorized`, points of shape (n, d) → n numbers.
        x0: where to start; or a `Space`, which holds the start and all that a decision must keep.
        budget: how many values of `fun` may be spent, `final_queries` included. Never passed.
        radius: about how far a first trial may go, in the units of x; one number, or one for each coordinate.
            By default a tenth of the width of each coordinate's bounds, or of its value at the start; a
            sequential method other than the walk needs it where there are no bounds.
        max_radius: how far any trial may be from a decision tried before. Methods other than the model and
            the walk have no such limit.
        method: "auto", "model", a name of `driftopt.methods.names()`, or a Method with its own numbers.
            "auto" is the model for at most 1,000 values in at most 50 dimensions, and the walk beyond.
        params: the numbers of a named method; "auto" needs none. The two of O2NC without a step use the
            scale-free learner, and then block = T^(2/3) for T iterations by default.
        bounds: pairs (low, high) or scipy's Bounds; every queried point is inside them.
        constraints: scipy's LinearConstraint, a table {"A", "lb", "ub"}, or a list of them; every queried
            point keeps them.
        grid: a step for each coordinate, or one for all: every queried point and the reported one are
            multiples of it, None for a continuous coordinate; a pair (step, through) for a grid through
            another point than 0. Points are rounded at random with the right mean.
        direction: "minimize" or "maximize".
        vectorized: whether `fun` takes several points at once.
        loss: F(x, ξ) as a JAX function; `fun` then returns ξ, what was observed, and not the value. Needed by
            methods that see ξ; any other method is told F(x, ξ).
        model: for methods that fit one, a driftopt.oracle.Model of the law of ξ.
        settle: hold each decision for so many calls of `fun` and use the last, where the world has a memory.
        covariates: names of what else is known of each query: `fun` then returns (value, covariates), the
            second as numbers in this order or by name, NaN for one that is not known. What they explain is
            taken out of the values before the method sees them. They must be things that **the decision
            cannot move**; a warning says which seem to. The result's `covariates` says what each explained.
        limits: how large or small metrics may become, {"complaints": {"max": 5}}, as in `Study.create`. `fun`
            then returns the arguments of `Study.tell` by name: {"value": …, "metrics": {"complaints": 3}};
            the result's `metrics` says what each is around x.
        relative_to_control: values count as differences to the "control" that `fun` returns with each.
        precision: values are weighed by the "sem" or the "n" that `fun` returns with each.
        final_queries: spend so many of the budget at the reported x: `fun` is their mean, `fun_sem` its
            standard error. Without them `fun` is what the run knows anyway, and `fun_basis` says in words
            what that is: never the best value seen, which is only the luckiest draw.
        rng: a whole number or a numpy Generator; None draws a seed, reported in `params`.
        callback: SciPy's `callback(intermediate_result)`, or `callback(x)`, after each iteration;
            StopIteration ends the run.
        progress: show a bar over the queries spent.
        args: further arguments of `fun`.

    Returns:
        scipy's OptimizeResult: x, fun, fun_sem, fun_basis, nfev, nit, success, status, message, params
        (all numbers used) and history (points x, their values, and the iteration of each; not printed).
        Without `final_queries`, fun is what the model expects at x. For a sequential method it is the mean of
        the last eighth (four at the least) of the values at its own decisions, where it asks there, else of
        all values: unbiased for the mean of f at those decisions. None only where the function failed in
        the first iteration.

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
    checks.function("fun", fun)
    for name, given in (("callback", callback), ("loss", loss)):
        if given is not None:
            checks.function(name, given)
    if not isinstance(args, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"args must be a tuple of further arguments of fun, got {checks.brief(args)}")
    settle, total = checks.shape("settle", settle), checks.one_count("budget", budget)
    if not checks.is_whole(final_queries) or not 0 <= final_queries < total:
        raise ValueError(
            f"final_queries must be a whole number from 0 to budget - 1, got {checks.brief(final_queries)}"
        )
    task = Task(
        fun,
        tuple(args),
        Space.build(x0, bounds=bounds, constraints=constraints, grid=grid),
        budget=total,
        final_queries=int(final_queries),
        settle=settle,
        radius=radius,
        max_radius=max_radius,
        params=checks.table("params", params),
        vectorized=checks.flag("vectorized", vectorized),
        maximize=checks.choice("direction", direction, ("minimize", "maximize")) == "maximize",
        covariates=beside.names("covariates", covariates) if covariates else (),
        limits=none_hard(checked(limits), "a function") if limits else {},
        relative_to_control=checks.flag("relative_to_control", relative_to_control),
        precision=checks.flag("precision", precision),
        loss=loss,
        law=model,
        rng=rng,
    )
    progress = checks.flag("progress", progress)
    if loss is not None and task.vectorized:
        raise ValueError("with `loss=` the function draws one ξ at a time: leave vectorized out")
    if task.vectorized and task.by_name:
        raise ValueError(
            "limits, relative_to_control and precision need what `fun` returns by name of each query, "
            '{"value": …, "metrics": …}: leave vectorized out'
        )
    if loss is not None and (task.by_name or task.covariates):
        raise ValueError("covariates, limits, control and precision go with values: leave `loss=` out")
    run: FunctionRun
    if takes_model(method, task.decisions, task.space.dim):
        from driftopt.drivers.model_run import ModelRun

        run = ModelRun(task)
    else:
        many = f"minimize for {task.decisions:,} values in {task.space.dim:,} dimensions"
        with needs_jax(many if method == "auto" else f"method {method!r}"):
            from driftopt.drivers.sequential_run import SequentialRun

        run = SequentialRun(task, method)
    result = run.run(callback, progress)
    if task.covariates:
        from driftopt.answers.effects import warn_of

        warn_of(result["covariates"])
    return result


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    bounds: Any = None,
    callback: Callable[..., Any] | None = None,
    constraints: Any = (),
    **options: Any,
) -> "OptimizeResult":
    """`minimize` as a method of scipy: `scipy.optimize.minimize(fun, x0, method=driftopt.scipy_method,
    options=dict(budget=…, radius=…))`.

    Args:
        fun: as `minimize` takes it.
        x0: the start.
        args: further arguments of `fun`.
        bounds: as `minimize` takes them.
        callback: as `minimize` takes it.
        constraints: as `minimize` takes them.
        options: every other argument of `minimize`; scipy's own `tol` and derivatives are refused.
    """
    derivatives = {name: options.pop(name, None) for name in ("jac", "hess", "hessp")}
    unused = [name for name, given in derivatives.items() if given is not None and given is not False]
    none = constraints is None or (isinstance(constraints, tuple | list | dict) and not constraints)
    unused += [] if none else ["constraints"]
    if unused:
        advice = "; scipy rewrites constraints: give them to driftopt.minimize" if not none else ""
        raise ValueError(f"a zeroth-order method takes no {', '.join(unused)}{advice}")
    if options.pop("tol", None) is not None:
        raise ValueError("tol has no meaning under noise: set the budget")
    return minimize(fun, x0, args=args, bounds=bounds, callback=callback, **options)
