"""Pricing with Gaussian demand: the simplest problem whose stable point is twice its optimum.

Izzo, Ying and Zou, "How to learn when data reacts to your model", ICML 2021. A decision x holds d prices, the
demand falls with them, and the loss is the negative revenue:

    ξ ~ N(μ₀ − εx, Σ),   F(x; ξ) = −xᵀξ,   f(x) = −μ₀ᵀx + ε‖x‖²

f is least at μ₀/2ε. Retraining takes the demand as given and raises every price that still sells: it rests
only at μ₀/ε, where nothing is sold any more and f = 0.

`AR1Pricing` is the same in a world with memory: today's demand is partly yesterday's. Liu, Li and Wai,
"Two-timescale derivative free optimization for performative prediction with Markovian data", ICML 2024:

    ξ_t = (1 − γ) ξ_{t−1} + γ ζ_t,   ζ_t ~ N(μ₀ − κx_t, Σ),   F(x; ξ) = −xᵀξ

Under prices that are held it comes to rest at ξ ~ N(μ₀ − κx, γ/(2 − γ) Σ), so f, the optimum μ₀/2κ and the
stable point μ₀/κ are those without memory. With γ = 1 it is that problem.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from driftopt import checks
from driftopt.methods.models import LinearGaussian
from driftopt.problem import Optimum, Problem, single
from driftopt.pytree import module
from driftopt.rng.seeds import as_seed
from driftopt.rng.threefry import normal


@module
class GaussianPricing(Problem):
    """ξ ~ N(μ₀ − εx, Σ),  F(x; ξ) = −xᵀξ; make instances with `gaussian_pricing`."""

    base: Array  # μ₀, (d,): the mean demand at the prices 0
    sensitivity: Array  # ε
    root: Array  # (d, d), a matrix L with LLᵀ = Σ

    @property
    def dim(self) -> int:
        """d, the number of products."""
        return self.base.shape[0]

    @property
    def x0(self) -> Array:
        """All prices one half: at 0 every value would be 0."""
        return jnp.full(self.dim, 0.5, jnp.float32)

    def mean(self, x: Array) -> Array:
        """μ₀ − εx, the mean demand at the prices x."""
        return self.base - self.sensitivity * x

    def noise(self, key: Array) -> Array:
        """d standard normal numbers."""
        return normal(key, (self.dim,))

    def respond(self, noise: Array, x: Array) -> Array:
        """The demand; it may be negative, as a normal number may."""
        return self.mean(x) + self._spread(noise.astype(x.dtype))

    def value(self, x: Array, xi: Array) -> Array:
        """The negative revenue."""
        return -jnp.sum(x * xi)

    def objective(self, x: Array) -> Array:
        """−μ₀ᵀx + ε‖x‖²."""
        return -jnp.sum(x * self.mean(x))

    def optimum(self) -> Optimum:
        """μ₀/2ε."""
        return self._known(np.asarray(self.base, float) / (2 * float(self.sensitivity)))

    def stable_point(self) -> Optimum:
        """μ₀/ε: the demand is 0 on average, so no other prices look better."""
        return self._known(np.asarray(self.base, float) / float(self.sensitivity))

    def model(self) -> LinearGaussian:
        """ξ ~ N(b + Ax, Σ), with b, A and Σ unknown."""
        return LinearGaussian()

    def _spread(self, noise: Array) -> Array:
        return jnp.sum(self.root * noise[None, :], axis=1)

    def _known(self, x: np.ndarray) -> Optimum:
        base = np.asarray(self.base, float)
        return Optimum(x, float(float(self.sensitivity) * x @ x - base @ x))


def gaussian_pricing(
    dim: int = 5, *, sensitivity: float = 1.5, noise: float = 1.0, covariance: Any = None, rng: Any = 0
) -> GaussianPricing:
    """A random instance: μ₀ with independent entries, uniform between 2 and 4.

    Args:
        dim: d, the number of products.
        sensitivity: ε, how fast the demand falls.
        noise: the standard deviation of every product's demand, independent of the others'.
        covariance: Σ as a (d, d) matrix, instead of `noise`.
        rng: a seed or a Generator, for μ₀.
    """
    size = int(checks.count("dim", dim))
    base = np.random.default_rng(as_seed(rng)).uniform(2, 4, size)
    return GaussianPricing(
        single(base),
        single(checks.positive("sensitivity", sensitivity)),
        single(covariance_root(size, noise, covariance)),
    )


@module
class AR1Pricing(GaussianPricing):
    """ξ_t = (1 − γ) ξ_{t−1} + γ ζ_t,  ζ_t ~ N(μ₀ − κx_t, Σ); make instances with `ar1_pricing`.

    `sensitivity` is κ; 1 − γ is the field's mixing rate ρ.
    """

    refresh: Array  # γ, the share of the demand that is new at every deployment

    def respond(self, noise: Array, x: Array) -> Array:
        """A demand at rest: N(μ₀ − κx, γ/(2 − γ) Σ)."""
        share = jnp.sqrt(self.refresh / (2 - self.refresh))
        return self.mean(x) + share * self._spread(noise.astype(x.dtype))

    def begin(self, key: Array) -> Array:
        """A demand at rest under the prices `x0`."""
        return self.respond(self.noise(key), self.x0)

    def advance(self, world: Array, noise: Array, x: Array) -> tuple[Array, Array]:
        """One deployment of x: the new demand is both the world's state and the observation."""
        fresh = self.mean(x) + self._spread(noise.astype(x.dtype))
        # In this form γ = 1 leaves exactly the fresh demand.
        demand = self.refresh * fresh + (1 - self.refresh) * world
        return demand, demand


def ar1_pricing(
    dim: int = 5,
    *,
    sensitivity: float = 0.5,
    refresh: float = 0.5,
    noise: float = 1.0,
    covariance: Any = None,
    rng: Any = 0,
) -> AR1Pricing:
    """A random instance: μ₀ with independent entries, uniform between 2 and 4.

    Args:
        dim: d, the number of products.
        sensitivity: κ, how far the demand falls in the end.
        refresh: γ, above 0 and at most 1: the share of the demand that is new at every deployment.
        noise: the standard deviation of the fresh demand ζ of every product, independent of the others'.
        covariance: Σ of ζ as a (d, d) matrix, instead of `noise`.
        rng: a seed or a Generator, for μ₀.
    """
    if not checks.positive("refresh", refresh) <= 1:
        raise ValueError(f"refresh must be above 0 and at most 1, got {refresh!r}")
    plain = gaussian_pricing(dim, sensitivity=sensitivity, noise=noise, covariance=covariance, rng=rng)
    return AR1Pricing(plain.base, plain.sensitivity, plain.root, single(refresh))


def covariance_root(dim: int, noise: float, covariance: Any = None) -> np.ndarray:
    """A lower triangular L with LLᵀ = Σ; Σ is noise² I by default."""
    if covariance is None:
        return checks.positive("noise", noise) * np.eye(dim)
    matrix = np.asarray(covariance, float)
    if matrix.shape != (dim, dim) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise ValueError(
            f"covariance must be a symmetric ({dim}, {dim}) matrix of finite numbers, got {covariance!r}"
        )
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"covariance must be positive definite, got {covariance!r}") from None
