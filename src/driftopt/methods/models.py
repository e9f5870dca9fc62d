"""Parametric families for the law of ξ, for methods that fit one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from driftopt.oracle import Model
from driftopt.rng.threefry import normal

RIDGE = 1e-6  # relative to the mean variance: keeps a covariance of few samples invertible


class Fitted(NamedTuple):
    """β of the linear Gaussian family."""

    base: Array  # b, (k,)
    shift: Array  # A, (k, d)
    root: Array  # L with L Lᵀ = Σ, (k, k)
    shaped: Callable[[Array], Any]  # a vector (k,) as a ξ


class LinearGaussian(Model):
    """ξ ~ N(b + A x, Σ), fitted by maximum likelihood: least squares, and the residuals' covariance."""

    def fit(self, x: Array, xi: Any, taken: Array) -> Fitted:
        flat = flattened(xi)
        base, shift = least_squares(x, flat, taken)
        rest = jnp.where(taken[:, None], flat - base - x @ shift.T, 0)
        covariance = rest.T @ rest / jnp.maximum(jnp.sum(taken), 1)
        shaped = unflattening(jax.tree.map(lambda leaf: leaf[0], xi))
        return Fitted(base, shift, jnp.linalg.cholesky(steadied(covariance)), shaped)

    def draw(self, parameters: Fitted, key: Array, x: Array) -> Any:
        z = normal(key, parameters.base.shape).astype(x.dtype)
        return parameters.shaped(parameters.base + parameters.shift @ x + parameters.root @ z)


def flattened(xi: Any) -> Array:
    """ξ of n samples as (n, k): all numbers of a sample in one row."""
    return jax.vmap(lambda one: ravel_pytree(one)[0])(xi)


def unflattening(one: Any) -> Callable[[Array], Any]:
    """A function from the vector of all numbers of a ξ to that ξ, shaped as `one`."""
    return ravel_pytree(jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), one))[1]


def steadied(covariance: Array) -> Array:
    """A covariance with a little on its diagonal."""
    size = covariance.shape[0]
    return covariance + (RIDGE * jnp.trace(covariance) / size + RIDGE**2) * jnp.eye(
        size, dtype=covariance.dtype
    )


def least_squares(x: Array, y: Array, taken: Array) -> tuple[Array, Array]:
    """b (k,) and A (k, d) that minimise Σ ‖y_i − b − A x_i‖² over the rows taken."""
    rows = jnp.where(taken[:, None], jnp.concatenate([jnp.ones_like(x[:, :1]), x], axis=1), 0)
    solution, *_ = jnp.linalg.lstsq(rows, jnp.where(taken[:, None], y, 0))
    return solution[0], solution[1:].T
