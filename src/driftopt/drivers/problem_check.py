"""`check`: whether a problem of your own keeps the promises that drivers rely on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt import checks
from driftopt.drivers.contract import check_shapes
from driftopt.drivers.stack import Stack
from driftopt.problem import Optimum, Problem, check_problem
from driftopt.report import formats
from driftopt.report.table import Row, Table, cells
from driftopt.rng.seeds import as_key, as_seed
from driftopt.runtime.forks import refuse_after_fork

FAR = 5.0  # standard errors: normal means are further away once in 1.7 million comparisons
SEEN = 7.0  # standard errors: of errors this large 98 in 100 lie further away than FAR
ROUNDING = 1e-4  # relative, for sums in float32
NEAR = 0.1
# The points' distances from x0, a standard deviation of each coordinate, in units of max(1, |x0|).
DISTANCES = (0.0, NEAR, 0.5, 1.0, 1.0, 3.0)


@dataclass(frozen=True)
class CheckedPromise:
    """One promise, whether it is kept, and the figures behind that."""

    promise: str
    kept: bool
    detail: str


@dataclass(frozen=True, repr=False)
class Report:
    """The findings of `check`; it prints as a list."""

    problem: str
    findings: tuple[CheckedPromise, ...]

    @property
    def ok(self) -> bool:
        """Whether every promise that was checked is kept."""
        return all(finding.kept for finding in self.findings)

    def __repr__(self) -> str:
        lines = [f"  {'ok' if f.kept else 'NO':3} {f.promise}: {f.detail}" for f in self.findings]
        return "\n".join([f"{self.problem}: {'all promises kept' if self.ok else 'not ready'}", *lines])

    def _repr_html_(self) -> str:
        rows = [Row(f.promise, cells(["yes" if f.kept else "NO", f.detail])) for f in self.findings]
        return formats.html(Table(self.problem, ("promise", "kept", "seen"), rows, words=(0, 1, 2)))


def check(problem: Problem, *, samples: int = 4000, rng: Any = 0) -> Report:
    """Whether a problem of your own keeps the promises that drivers rely on.

    The promises: it is a pytree whose members have the right shapes, and whose randomness is the key's
    alone. Its samples and its objective are finite at x0 and near it. At one point at least, samples depend
    on the key. At x0 and at five random points, near and far, the mean of the samples is the objective
    (|z| ≤ 5); the report says how large an error would have been seen at each. A far point where anything
    is not finite is left out. Where `broadcasts` is set, runs side by side equal runs alone. Where the
    `optimum` is known, it is a decision with its objective, and no point is better.

    Args:
        problem: a Problem of your own.
        samples: how many are drawn at each point. Four times as many show errors half as large.
        rng: a seed or a Generator, for the samples and the points.

    >>> from driftopt.problems import kink
    >>> check(kink(3)).ok
    True
    """
    refuse_after_fork()
    number = checks.one_count("samples", samples)
    if number < 100:
        raise ValueError(f"samples must be at least 100 for a z-score, got {number}")
    if isinstance(problem, Stack):
        raise ValueError("problem must be a single Problem: check each before it goes into stack")
    seed, name = as_seed(rng), type(problem).__name__
    shapes = _tried(
        "shapes and types", lambda: check_shapes(check_problem(problem)) and "as the drivers need them"
    )
    if not shapes.kept:
        return Report(name, (shapes,))
    start, generator = np.asarray(problem.x0, np.float64), np.random.default_rng(seed)
    unit = max(1.0, float(np.sqrt(np.mean(start**2))))
    sample, objective = jax.jit(jax.vmap(problem.sample, (0, None))), jax.jit(problem.objective)
    looks = list[Look]()
    for k, distance in enumerate(DISTANCES):
        x = jnp.asarray(start + distance * unit * generator.normal(size=problem.dim), jnp.float32)
        keys = jax.random.split(jax.random.fold_in(as_key(seed), k), number)
        where = f"{distance * unit:g} from x0" if distance else "x0"
        looks.append(
            Look(where, np.asarray(sample(keys, x), np.float64), float(objective(x)), distance > NEAR)
        )
    found = [shapes, *judged(looks)]
    if problem.broadcasts:
        found.append(_tried("side by side as alone", lambda: _side_by_side(problem, seed)))
    exacts = [look.exact for look in looks if look.finite]
    found.append(_tried("optimum() is what it says", lambda: _optimum(problem, exacts)))
    return Report(name, tuple(found))


def _tried(promise: str, look: Callable[[], Any]) -> CheckedPromise:
    try:
        return CheckedPromise(promise, True, str(look()))
    except (ValueError, NotImplementedError) as error:
        return CheckedPromise(promise, False, str(error))


@dataclass(frozen=True)
class Look:
    """Samples at a point, and the objective at that point."""

    where: str
    values: np.ndarray
    exact: float
    far: bool = False  # whether the problem need not be defined there

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.values).all() and np.isfinite(self.exact))


def judged(looks: Sequence[Look]) -> list[CheckedPromise]:
    """Whether samples are finite, depend on the key at one point at least, and have the objective as mean."""
    found = list[CheckedPromise]()
    for look in looks:
        if not look.finite:
            lost = int((~np.isfinite(look.values)).sum())
            detail = f"objective {look.exact:g}, {lost} of {look.values.size} samples not"
            detail += ": this far point was left out" if look.far else ""
            found.append(CheckedPromise(f"finite at {look.where}", look.far, detail))
    finite = [look for look in looks if look.finite]
    spreads = [float(look.values.std(ddof=1)) for look in finite]
    if finite:
        largest = max(spreads)
        detail = f"standard deviations up to {largest:.4g}"
        none = f"at each of {len(finite)} points all samples are the same: is the key used?"
        found.append(
            CheckedPromise("samples depend on the key", largest > 0, detail if largest > 0 else none)
        )
    for look, spread in zip(finite, spreads, strict=True):
        mean, error = float(look.values.mean()), spread / np.sqrt(look.values.size)
        gap, rounding = mean - look.exact, ROUNDING * max(abs(look.exact), abs(mean), 1e-30)
        z = 0.0 if abs(gap) <= rounding else gap / error if error > 0 else np.inf
        detail = (
            f"mean of {look.values.size:,} samples {mean:.6g}, objective {look.exact:.6g}, z = {z:.1f}; "
            f"an error of {max(SEEN * error, rounding):.2g} would be seen"
        )
        found.append(
            CheckedPromise(f"the objective is the samples' mean at {look.where}", abs(z) <= FAR, detail)
        )
    return found


def _optimum(problem: Problem, exacts: Sequence[float]) -> str:
    """The objective at the known optimum; `exacts` are objectives at other points, none of them lower."""
    known: Any = checks.function("optimum", problem.optimum)()
    if known is None:
        return "not known"
    if not isinstance(known, Optimum):
        raise ValueError(f"it must give a driftopt.problem.Optimum or None, got {checks.brief(known)}")
    x = checks.single_precision("its x", known.x, problem.dim)
    value, there = checks.number("its value", known.value), float(jax.jit(problem.objective)(x))
    rounding = ROUNDING * max(map(abs, (value, there, *exacts)))
    if not abs(value - there) <= rounding:
        raise ValueError(f"its value is {value:.6g}, but the objective at its x is {there:.6g}")
    if min(exacts) < value - rounding:
        raise ValueError(f"its value is {value:.6g}, but at a point that was tried f is {min(exacts):.6g}")
    return f"objective {there:.6g}"


def _side_by_side(problem: Problem, seed: int) -> str:
    """Compare `respond` and `value` on (d, lanes) with one lane at a time."""
    lanes = 3
    x = problem.x0[:, None] + jnp.asarray(
        np.random.default_rng(seed).normal(0, 0.1, (problem.dim, lanes)), jnp.float32
    )
    noise = jax.jit(problem.noise)(as_key(seed))
    alone = jax.jit(jax.vmap(problem.observe, (None, 1)))(noise, x)
    wide = jax.tree.map(lambda leaf: jnp.asarray(leaf)[..., None], problem)
    shared = jax.tree.map(lambda leaf: leaf[..., None], noise)
    try:
        together = jax.jit(lambda problem, noise, x: problem.observe(noise, x))(wide, shared, x)
    except (TypeError, ValueError) as error:
        raise ValueError(f"broadcasts is set, but runs side by side fail: {error}") from None
    if jnp.shape(together) != (lanes,) or not np.allclose(together, alone, rtol=1e-3, atol=1e-4):
        raise ValueError(
            "broadcasts is set, but runs side by side differ from runs alone: sum over axis 0, or unset it"
        )
    return f"{lanes} runs agree"
