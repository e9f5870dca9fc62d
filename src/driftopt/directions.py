"""Random directions for gradient estimates.

Drawn in float32 and widened to the caller's precision, so that one seed gives the same directions to a
float32 simulation and to a float64 live run.
"""

import jax
import jax.numpy as jnp
from jax import Array


def gaussian(key: Array, count: int, dim: int) -> Array:
    """`count` directions u ~ N(0, I), shape (count, dim)."""
    return jax.random.normal(key, (count, dim), jnp.float32)


def sphere(key: Array, count: int, dim: int) -> Array:
    """`count` directions u ~ Unif(S^{d-1}), shape (count, dim)."""
    normal = gaussian(key, count, dim)
    return normal / jnp.sqrt(jnp.sum(normal * normal, axis=1, keepdims=True))


def coordinates(dim: int) -> Array:
    """The d unit vectors e_1 … e_d as rows."""
    return jnp.eye(dim, dtype=jnp.float32)
