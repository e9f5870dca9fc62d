"""How stationary a point is, measured from noisy values alone.

With u uniform on the sphere and fresh noise on each side, the two-point estimates

    g_i = d/(2δ) (F(x + δu_i; ξ⁺) − F(x − δu_i; ξ⁻)) u_i,        E g_i = ∇f_δ(x),

give, from n of them, the unbiased U-statistic

    U = 1/(n(n−1)) Σ_{i≠j} ⟨g_i, g_j⟩,                          E U = ‖∇f_δ(x)‖².

∇f_δ(x) lies in the Goldstein subdifferential ∂_δ f(x) of a Lipschitz f, so dist(0, ∂_δ f(x)) ≤ ‖∇f_δ(x)‖: an
upper confidence bound ε on that norm says that x is (δ, ε)-Goldstein stationary.

With Σ the covariance of one estimate, Var U = 4 m'Σm/n + 2 tr(Σ²)/(n(n−1)) where m = ∇f_δ(x), and
m'Σm ≤ λ ‖m‖², λ the largest eigenvalue of Σ. The bound ε is the largest θ that the data do not refuse,

    θ² − max(U, 0) ≤ t √(4 λ θ²/n + 2 tr(Σ²)/(n(n−1))),

with t Student's quantile at n − 1 degrees of freedom and the sample covariance for Σ. The variance is taken
at the norm in question, not at the measured one: a U that is small by luck would otherwise come with an
error that is small by the same luck. The level is asymptotic in n; simulations hold it from n = 10 on, the
least that is accepted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftopt import checks

if TYPE_CHECKING:
    from driftopt.problem import Problem

LEAST_PAIRS = 10


@dataclass(frozen=True)
class Stationarity:
    """What n pairs of queries say about ‖∇f_δ(x)‖."""

    radius: float  # δ
    squared_norm: float  # U, unbiased for ‖∇f_δ(x)‖²; may be negative
    standard_error: float  # of U
    epsilon: float  # the upper confidence bound on ‖∇f_δ(x)‖
    confidence: float
    pairs: int
    queries: int

    @property
    def sentence(self) -> str:
        """What the measurement supports, and what it cost."""
        return (
            f"({self.radius:.4g}, {self.epsilon:.4g})-Goldstein stationary at {100 * self.confidence:g} % "
            f"({self.queries} queries)"
        )

    def __str__(self) -> str:
        return self.sentence


def measure(
    oracle: "Problem | Callable[[np.ndarray], float]",
    x: Any,
    *,
    radius: float,
    pairs: int = 100,
    confidence: float = 0.95,
    rng: Any = None,
) -> Stationarity:
    """Query around x, `pairs` times two points, and bound the smoothed gradient's norm.

    Args:
        oracle: a Problem, or a Python function of a vector whose noise is fresh at every call.
        x: the point in question.
        radius: δ, the scale on which stationarity is meant.
        pairs: n; each costs two queries.
        confidence: the level of the bound.
        rng: a seed or a Generator, for the directions and for a Problem's noise.

    >>> report = measure(lambda x: float(x @ x), [0.0, 0.0], radius=0.1, pairs=20, rng=0)
    >>> report.sentence
    '(0.1, 0)-Goldstein stationary at 95 % (40 queries)'
    """
    from driftopt.problem import Problem
    from driftopt.rng.seeds import as_seed

    center = checks.vector("x", x)
    delta = float(checks.positive("radius", radius))
    n = _enough(pairs)
    seed = as_seed(rng)
    draws = np.random.default_rng(seed).standard_normal((n, center.size))
    directions = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    points = np.concatenate([center + delta * directions, center - delta * directions])
    if isinstance(oracle, Problem):
        values = _sample(oracle, points, seed)
    else:
        values = np.array([float(oracle(point)) for point in points])
    return from_pairs(values[:n], values[n:], directions, radius=delta, confidence=confidence)


def from_pairs(
    plus: Any, minus: Any, directions: Any, *, radius: float, confidence: float = 0.95
) -> Stationarity:
    """The report from values at hand: F(x + δu_i) in `plus`, F(x − δu_i) in `minus`, u_i in `directions`."""
    ahead, behind = checks.vector("plus", plus), checks.vector("minus", minus, len(plus))
    n = _enough(len(ahead))
    u = np.asarray(directions, dtype=np.float64)
    if u.ndim != 2 or len(u) != n:
        raise ValueError(f"directions must be {n} rows, one for each pair; got shape {u.shape}")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    delta = float(checks.positive("radius", radius))
    estimates = (ahead - behind)[:, None] * u * (u.shape[1] / (2 * delta))
    squared = u_statistic(estimates)
    largest, floor = _spread(estimates)
    seen, t = max(squared, 0.0), _student(confidence, n - 1)
    # The larger root q = θ² of (q − U)² = t² (4 λ q/n + floor).
    half = 2 * t**2 * largest / n
    bound = np.sqrt(seen + half + np.sqrt(2 * half * seen + half**2 + t**2 * floor))
    error = np.sqrt(4 * largest * seen / n + floor)
    return Stationarity(delta, squared, float(error), float(bound), float(confidence), n, 2 * n)


def u_statistic(estimates: np.ndarray) -> float:
    """U = 1/(n(n−1)) Σ_{i≠j} ⟨g_i, g_j⟩ from the rows g_i.

    >>> u_statistic(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    0.6666666666666666
    """
    n, total = len(estimates), estimates.sum(axis=0)
    return float((total @ total - np.sum(estimates * estimates)) / (n * (n - 1)))


def _spread(estimates: np.ndarray) -> tuple[float, float]:
    """λ, the covariance's largest eigenvalue, and 2 tr(Σ²)/(n(n−1)), the variance of U where m = 0."""
    n = len(estimates)
    centred = (estimates - estimates.mean(axis=0)) / np.sqrt(n - 1)
    # Both Gram matrices have the eigenvalues of Σ: take the smaller one.
    gram = centred @ centred.T if n < estimates.shape[1] else centred.T @ centred
    eigenvalues = np.linalg.eigvalsh(gram)
    return float(max(eigenvalues[-1], 0.0)), float(2 * np.sum(eigenvalues**2) / (n * (n - 1)))


def _student(confidence: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(confidence, freedom))


def _enough(pairs: Any) -> int:
    n = int(checks.count("pairs", pairs))
    if n < LEAST_PAIRS:
        raise ValueError(f"{n} pairs are too few for a confidence bound: take at least {LEAST_PAIRS}")
    return n


def _sample(problem: "Problem", points: np.ndarray, seed: int) -> np.ndarray:
    import jax
    import jax.numpy as jnp

    from driftopt.rng.seeds import as_key, query_key, run_keys

    _, noise = run_keys(as_key(seed))
    keys = jax.vmap(lambda i: query_key(noise, i))(jnp.arange(len(points)))
    values = jax.jit(jax.vmap(problem.sample))(keys, jnp.asarray(points, jnp.float32))
    return np.asarray(values, dtype=np.float64)
