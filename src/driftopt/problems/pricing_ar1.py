"""Pricing in a world with memory: today's demand is partly yesterday's.

Liu, Li and Wai, "Two-timescale derivative free optimization for performative prediction with Markovian data",
ICML 2024. The demand follows the prices slowly, by an autoregression of order one:

    ξ_t = (1 − γ) ξ_{t−1} + γ ζ_t,   ζ_t ~ N(μ₀ − κx_t, Σ),   F(x; ξ) = −xᵀξ

Under prices that are held it comes to rest at ξ ~ N(μ₀ − κx, γ/(2 − γ) Σ), so f, the optimum μ₀/2κ and the
stable point μ₀/κ are those of the same pricing without memory. With γ = 1 it is that problem.
"""

from typing import Any

import jax.numpy as jnp
from jax import Array

from driftopt import checks
from driftopt.problems.pricing_gaussian import GaussianPricing, gaussian_pricing
from driftopt.pytree import module


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
    return AR1Pricing(plain.base, plain.sensitivity, plain.root, jnp.float32(refresh))
