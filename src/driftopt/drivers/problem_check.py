"""`check`: whether a problem of your own keeps its promises, before anything is run on it."""

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

FAR = 5.0  # standard errors: normal means are further away once in 1.7 million checks
ROUNDING = 1e-4  # relative, for sums in float32


@dataclass(frozen=True)
class CheckedPromise:
    """One promise and what was seen of it."""

    promise: str
    kept: bool
    detail: str


@dataclass(frozen=True, repr=False)
class Report:
    """What `check` found; it prints as a list."""

    problem: str
    findings: tuple[CheckedPromise, ...]

    @property
    def ok(self) -> bool:
        """Whether every promise that was looked at is kept."""
        return all(finding.kept for finding in self.findings)

    def __repr__(self) -> str:
        lines = [f"  {'ok' if f.kept else 'NO':3} {f.promise}: {f.detail}" for f in self.findings]
        return "\n".join([f"{self.problem}: {'all promises kept' if self.ok else 'not ready'}", *lines])

    def _repr_html_(self) -> str:
        rows = [Row(f.promise, cells(["yes" if f.kept else "NO", f.detail])) for f in self.findings]
        return formats.html(Table(self.problem, ("promise", "kept", "seen"), rows, words=(0, 1, 2)))


def check(problem: Problem, *, samples: int = 4000, rng: Any = 0) -> Report:
    """Look at a problem as a driver will, and say which of its promises it keeps.

    The promises: it is a pytree whose members have the right shapes, and whose randomness is the key's alone;
    its samples and its objective are finite; samples depend on the key; their mean is the objective (|z| ≤ 5,
    at the start and at a point near it); where `broadcasts` is set, runs side by side equal runs alone; where
    the `optimum` is known, it is a decision with its objective, and neither of the two points is better.

    Args:
        problem: a Problem of your own.
        samples: how many are drawn at each of the two points.
        rng: a seed or a Generator, for the samples and the second point.

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
    shapes = _tried("shapes and types", lambda: _shaped(problem))
    if not shapes.kept:
        return Report(name, (shapes,))
    near = problem.x0 + jnp.asarray(np.random.default_rng(seed).normal(0, 0.1, problem.dim), jnp.float32)
    points = (("x0", problem.x0.astype(jnp.float32)), ("a point near x0", near))
    found, exacts = [shapes], list[float]()
    for k, (where, x) in enumerate(points):
        keys = jax.random.split(jax.random.fold_in(as_key(seed), k), number)
        values = np.asarray(jax.jit(jax.vmap(problem.sample, (0, None)))(keys, x), np.float64)
        exact = float(jax.jit(problem.objective)(x))
        found += [*_law(where, values, exact)]
        exacts.append(exact)
    if problem.broadcasts:
        found.append(_tried("side by side as alone", lambda: _side_by_side(problem, seed)))
    found.append(_tried("optimum() is what it says", lambda: _optimum(problem, exacts)))
    return Report(name, tuple(found))


def _tried(promise: str, look: Callable[[], Any]) -> CheckedPromise:
    try:
        return CheckedPromise(promise, True, str(look()))
    except (ValueError, NotImplementedError) as error:
        return CheckedPromise(promise, False, str(error))


def _shaped(problem: Any) -> str:
    check_shapes(check_problem(problem))
    return "as the drivers need them"


def _law(where: str, values: np.ndarray, exact: float) -> tuple[CheckedPromise, ...]:
    """Finite, different from key to key, and on average the objective."""
    finite = np.isfinite(values)
    if not finite.all() or not np.isfinite(exact):
        lost = int((~finite).sum())
        return (
            CheckedPromise(
                f"finite at {where}", False, f"objective {exact:g}, {lost} of {values.size} samples not"
            ),
        )
    spread, mean = float(values.std(ddof=1)), float(values.mean())
    gap, size = mean - exact, max(abs(exact), abs(mean), 1e-30)
    noise = CheckedPromise(
        f"samples depend on the key at {where}",
        spread > 0,
        f"standard deviation {spread:.4g}" if spread > 0 else "every sample is the same: is the key used?",
    )
    error = spread / np.sqrt(values.size)
    z = 0.0 if abs(gap) <= ROUNDING * size else gap / error if error > 0 else np.inf
    detail = f"mean of {values.size:,} samples {mean:.6g}, objective {exact:.6g}, z = {z:.1f}"
    return (noise, CheckedPromise(f"the objective is the samples' mean at {where}", abs(z) <= FAR, detail))


def _optimum(problem: Problem, exacts: Sequence[float]) -> str:
    """A decision and its objective, where it is known; `exacts` are objectives that it is not above."""
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
        raise ValueError(f"its value is {value:.6g}, but at x0 or near it f is {min(exacts):.6g}")
    return f"objective {there:.6g}"


def _side_by_side(problem: Problem, seed: int) -> str:
    """`respond` and `value` on (d, lanes) at once against one lane at a time."""
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
