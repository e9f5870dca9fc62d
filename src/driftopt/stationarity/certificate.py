"""The certificate: pairs of values in, a report of how stationary the point is out.

∇f_δ(x) lies in the Goldstein subdifferential ∂_δ f(x) of a Lipschitz f, so dist(0, ∂_δ f(x)) ≤ ‖∇f_δ(x)‖: an
upper confidence bound ε on that norm says that x is (δ, ε)-Goldstein stationary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftopt import checks
from driftopt.stationarity import asymptotic, bounded
from driftopt.stationarity.estimates import u_statistic

if TYPE_CHECKING:
    from driftopt.problem import Problem

ROUNDING = 8 * np.finfo(float).eps  # differences this small relative to their values are 0
LEAST_BOUNDED = 2  # pairs, where the range of values is known
SMALLEST, LARGEST = float(np.finfo(float).tiny), float(np.sqrt(np.finfo(float).max)) / 16


@dataclass(frozen=True)
class Stationarity:
    """The estimate of ‖∇f_δ(x)‖ from n pairs of queries, and its bound."""

    radius: float  # δ
    squared_norm: float  # U, unbiased for ‖∇f_δ(x)‖²; may be negative
    standard_error: float  # of U
    epsilon: float | None  # the upper confidence bound on ‖∇f_δ(x)‖, always > 0; None if there is none
    confidence: float  # the level of the bound, 0.95 say
    pairs: int  # n
    queries: int  # the cost of the pairs
    value_range: tuple[float, float] | None = None  # the basis of the level; None: a normal approximation
    caution: str | None = None  # the reason not to trust the level, or for the missing bound

    @property
    def sentence(self) -> str:
        """The supported bound, the queries it cost, and any caution."""
        level = f"at {100 * self.confidence:g} % ({self.queries} queries)"
        if self.epsilon is None:
            return f"no bound {level}: {self.caution}"
        bound = f"({self.radius:.4g}, {self.epsilon:.4g})-Goldstein stationary {level}"
        return bound if self.caution is None else f"{bound}, if that can be trusted: {self.caution}"

    def __str__(self) -> str:
        return self.sentence


def measure(
    oracle: "Problem | Callable[[np.ndarray], float]",
    x: Any,
    *,
    radius: float,
    pairs: int = 100,
    confidence: float = 0.95,
    value_range: tuple[float, float] | None = None,
    rng: Any = None,
) -> Stationarity:
    """Query around x, `pairs` times two points, and bound the smoothed gradient's norm.

    Args:
        oracle: a Problem, or a Python function of a vector whose noise is fresh at every call.
        x: the point in question; of a Problem's dimension.
        radius: δ, the scale on which stationarity is meant.
        pairs: n; each costs two queries.
        confidence: the level of the bound.
        value_range: (low, high), which no value can leave. The level then holds for every law of the noise
            and every n, also where events are rare; without it, it rests on a normal approximation.
        rng: a seed or a Generator, for the directions and for a Problem's noise.

    >>> def sold(x):  # one visitor in fifty buys, and none has yet
    ...     return 0.0
    >>> print(measure(sold, [0.0], radius=0.5, pairs=60, rng=0))  # doctest: +ELLIPSIS
    no bound at 95 % (120 queries): only 0 of 60 differences are not 0: ...
    >>> print(measure(sold, [0.0], radius=0.5, pairs=60, value_range=(0, 1), rng=0))
    (0.5, 0.06434)-Goldstein stationary at 95 % (120 queries)
    """
    from driftopt.problem import Problem
    from driftopt.rng.seeds import as_seed

    center = checks.vector("x", x)
    if isinstance(oracle, Problem):
        checks.single_precision("x", x, oracle.dim)
    delta = checks.one_positive("radius", radius)
    between = _range(value_range)
    n = _enough(checks.one_count("pairs", pairs), between)
    _level(confidence)
    seed = as_seed(rng)
    draws = np.random.default_rng(seed).standard_normal((n, center.size))
    directions = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    points = np.concatenate([center + delta * directions, center - delta * directions])
    if isinstance(oracle, Problem):
        values = _sample(oracle, points, seed)
    else:
        ask = checks.function("oracle", oracle)
        values = np.array([_number(ask(point), i) for i, point in enumerate(points)])
    return from_pairs(
        values[:n],
        values[n:],
        directions,
        radius=delta,
        confidence=confidence,
        value_range=between,
        planned=True,
    )


def from_pairs(
    plus: Any,
    minus: Any,
    directions: Any,
    *,
    radius: float,
    confidence: float = 0.95,
    value_range: tuple[float, float] | None = None,
    planned: bool = False,
) -> Stationarity:
    """The report from values at hand, in the order in which they were measured.

    Args:
        plus: F(x + δu_i).
        minus: F(x − δu_i).
        directions: the u_i, one a row, drawn uniformly from the unit sphere.
        radius: δ.
        confidence: the level of the bound.
        value_range: (low, high), which no value can leave; see `measure`.
        planned: the number of pairs was fixed before the first value was seen. With a value_range the
            level otherwise holds however often one has looked, for a bound that is up to a third longer.
    """
    ahead, behind = checks.vector("plus", plus), checks.vector("minus", minus)
    if len(ahead) != len(behind):
        raise ValueError(f"plus and minus must be of one length, got {len(ahead)} and {len(behind)}")
    between = _range(value_range)
    n, delta = _enough(len(ahead), between), checks.one_positive("radius", radius)
    u, level = checks.finite("directions", directions), _level(confidence)
    if u.ndim != 2 or len(u) != n or u.shape[1] == 0:
        raise ValueError(f"directions must be {n} rows, one for each pair; got shape {u.shape}")
    if not np.allclose(np.linalg.norm(u, axis=1), 1, atol=1e-6):
        raise ValueError("directions must be unit vectors, one a row")
    # Halves, because the difference of two finite numbers need not be finite.
    halves = ahead / 2 - behind / 2
    halves = np.where(np.abs(halves) <= ROUNDING * np.maximum(np.abs(ahead), np.abs(behind)), 0, halves)
    if between is None:
        scale = float(np.abs(halves).max()) or 1.0
    else:
        low, high = between
        if outside := [float(v) for v in (*ahead, *behind) if not low <= v <= high]:
            raise ValueError(
                f"value_range must hold for every value, or the level does not: {outside[0]!r} is outside "
                f"({low:g}, {high:g})"
            )
        scale = high / 2 - low / 2
    unit = u.shape[1] / delta * scale  # B, the unit in which an estimate has a length of at most 1
    if not 0 < unit < LARGEST:
        raise ValueError(
            f"differences of {2 * scale:g} at a radius of {delta:g} cannot be squared in double precision: "
            "give values or x in other units"
        )
    scaled = halves / scale
    estimates = scaled[:, None] * u
    longest, error = asymptotic.bound(estimates, level)
    if between is None:
        caution, known = asymptotic.caution(scaled, u), asymptotic.changed(scaled) >= asymptotic.LEAST_CHANGED
    else:
        longest, caution, known = bounded.bound(estimates, level, planned=planned), None, True
    return Stationarity(
        radius=delta,
        squared_norm=float(u_statistic(estimates)) * unit**2,
        standard_error=float(error) * unit**2,
        epsilon=max(float(longest) * unit, SMALLEST) if known else None,
        confidence=level,
        pairs=n,
        queries=2 * n,
        value_range=between,
        caution=caution,
    )


def _range(value_range: Any) -> tuple[float, float] | None:
    if value_range is None:
        return None
    low, high = checks.vector("value_range", value_range, 2).tolist()
    if not low < high:
        raise ValueError(f"value_range must be (low, high) with low < high, got {checks.brief(value_range)}")
    return low, high


def least_pairs(value_range: tuple[float, float] | None) -> int:
    """The fewest pairs from which a report can be made."""
    return asymptotic.LEAST_PAIRS if value_range is None else LEAST_BOUNDED


def _enough(pairs: int, between: Any) -> int:
    if pairs < (least := least_pairs(between)):
        raise ValueError(
            f"pairs: {pairs} are too few for a confidence bound: take at least {least}"
            + (f", or {LEAST_BOUNDED} with value_range=(low, high)" if between is None else "")
        )
    return int(pairs)


def _level(confidence: Any) -> float:
    if not isinstance(confidence, float | int | np.floating) or not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be at least 0.5 and below 1, got {checks.brief(confidence)}")
    return float(confidence)


def _number(answer: Any, query: int) -> float:
    array = np.asarray(checks.unmasked(answer))
    if array.dtype.kind not in "iufb" or array.size != 1 or not np.isfinite(array).all():
        raise ValueError(f"query {query + 1}: oracle gave {checks.brief(answer)}; a finite number is needed")
    return float(array.reshape(()))


def _sample(problem: "Problem", points: np.ndarray, seed: int) -> np.ndarray:
    import jax
    import jax.numpy as jnp

    from driftopt.rng.seeds import as_key, query_key, run_keys
    from driftopt.runtime.forks import refuse_after_fork

    refuse_after_fork()

    _, noise = run_keys(as_key(seed))
    keys = jax.vmap(lambda i: query_key(noise, i))(jnp.arange(len(points)))
    values = jax.jit(jax.vmap(problem.sample))(keys, jnp.asarray(points, jnp.float32))
    return np.asarray(values, dtype=np.float64)
