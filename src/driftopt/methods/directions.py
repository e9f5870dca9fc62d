"""Random directions for gradient estimates.

Drawn in float32 and widened to the caller's precision, so that one seed gives the same directions to a
float32 simulation and to a float64 live run.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from driftopt.rng.threefry import normal
from driftopt.shapes import Float


def gaussian(key: Array, count: int, dim: int) -> Float[Array, "{count} {dim}"]:
    """`count` directions u ~ N(0, I), shape (count, dim)."""
    return normal(key, (count, dim))


def sphere(key: Array, count: int, dim: int) -> Float[Array, "{count} {dim}"]:
    """`count` directions u ~ Unif(S^{d-1}), shape (count, dim)."""
    return of_length_one(gaussian(key, count, dim))


def of_length_one(drawn: Float[Array, "count dim"]) -> Float[Array, "count dim"]:
    """The directions scaled to length 1."""
    return drawn / jnp.sqrt(jnp.sum(drawn * drawn, axis=1, keepdims=True))


def coordinates(dim: int) -> Float[Array, "{dim} {dim}"]:
    """The d unit vectors e_1 … e_d as rows."""
    return jnp.eye(dim, dtype=jnp.float32)


def orthonormal(key: Array, count: ArrayLike, dim: int) -> Float[Array, "{dim}"]:
    """Direction number `count` of a run, shape (dim,): each d in a row are an orthonormal basis of their own.

    The basis is the cosine transform's, with random signs of the coordinates and a random first column, then
    reflected at a random hyperplane. So u uᵀ adds up to I over every basis, its mean is I/d, and one
    direction costs O(d): a uniformly random basis would cost O(d³) and look the same to a method.
    """
    number = jnp.asarray(count)
    key, column = jax.random.fold_in(key, number // dim), number % dim
    normal = gaussian(key, 2, dim)
    column = (column + jax.random.randint(jax.random.fold_in(key, 1), (), 0, dim, jnp.int32)) % dim
    # cos(π (2k + 1) j / 2d) has period 4d in (2k + 1) j: whole numbers keep large angles exact.
    phase = ((2 * jnp.arange(dim) + 1) * column % (4 * dim)).astype(jnp.float32)
    height = jnp.sqrt(jnp.where(column == 0, 1, 2) / jnp.float32(dim)).astype(jnp.float32)
    cosine = height * jnp.cos(jnp.float32(jnp.pi / 2 / dim) * phase) * jnp.where(normal[0] > 0, 1, -1)
    mirror = normal[1]
    return cosine - 2 * jnp.sum(mirror * cosine) / jnp.sum(mirror * mirror) * mirror
