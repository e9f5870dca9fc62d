"""A world in plain NumPy for one method at a time: what it asks, what it is shown, and what it does with it.

ξ = b + A x + noise is a vector, F(x; ξ) = ½‖x − ξ‖² + √(1 + x₁²) + sin(x₂) in two spellings: JAX's, which the
method is shown, and NumPy's, which its transcription uses.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers.plan import affordable
from driftopt.methods.models import LinearGaussian
from driftopt.oracle import Observed, Sight

X0 = np.array([0.4, -1.1, 0.7, 0.05])
BASE = np.array([0.3, -0.2, 0.5, 0.1])
SHIFT = np.random.default_rng(5).normal(size=(4, 4)) * 0.2


def shown_loss(x, xi):
    return 0.5 * jnp.sum((x - xi) ** 2) + jnp.sqrt(1 + x[0] ** 2) + jnp.sin(x[1])


def loss(x, xi):
    return 0.5 * np.sum((x - xi) ** 2) + np.sqrt(1 + x[0] ** 2) + np.sin(x[1])


def gradient(x, xi):
    return x - xi + np.array([x[0] / np.sqrt(1 + x[0] ** 2), np.cos(x[1]), 0, 0])[: len(x)]


def data_gradient(x, xi):
    """∂F/∂ξ."""
    return xi - x


class Seen(NamedTuple):
    """One iteration's answers for a transcription."""

    values: np.ndarray  # (p,) means
    xi: list  # p arrays (n_i, 4)
    loss: object = loss
    gradient: object = gradient
    data_gradient: object = data_gradient


class Walk(NamedTuple):
    noise: list
    points: np.ndarray
    seen: list
    iterates: np.ndarray
    report: np.ndarray


def coordinates(method):
    """4, or 2 for a method that refuses so many."""
    try:
        method.points(len(X0))
    except ValueError:
        return 2
    return len(X0)


@jax.jit
def _told(method, state, values, asked, xi, taken, drawn):
    """The state after an iteration; the method is an argument, so that one program serves all its numbers."""
    shown = Observed(values, asked, xi, taken, shown_loss, jax.grad(shown_loss), LinearGaussian())
    return method.tell(state, shown, drawn)


def walk(method, seed=3, answers=23, most=None):
    """Drive a method of any sight in float64; keep its noise, points, answers and iterates."""
    rng, dim = np.random.default_rng(seed), coordinates(method)
    budget = sum(int(np.sum(method.samples(t, dim))) for t in range(answers))
    most = most or affordable(method, dim, budget).most
    noise, points, seen = [], [], []
    with jax.enable_x64(True):
        key = jax.random.key(seed)
        taken = np.zeros((method.points(dim), most), bool)
        zeros = Observed(
            jnp.zeros(len(taken)),
            jnp.zeros((len(taken), dim)),
            jnp.zeros((*taken.shape, dim)),
            jnp.asarray(taken),
            shown_loss,
            jax.grad(shown_loss),
        )
        x0 = jnp.asarray(X0[:dim], jnp.float64)
        state = method.init(key, x0, zeros) if method.sees.observes else method.init(key, x0)
        iterates = [np.asarray(state.x)]

        for t in range(answers):
            drawn = jax.tree.map(lambda a: np.asarray(a, np.float64), method.noise(key, t, dim))
            asked = np.asarray(method.ask(state, drawn))
            samples = np.broadcast_to(method.samples(t, dim), len(asked)).astype(int)
            streams = np.asarray(method.streams(t, dim))
            fresh = 0.3 * rng.standard_normal((len(asked), most, dim))
            if method.sees is Sight.SAME_SAMPLE:
                fresh = fresh[streams]
            xi = (BASE[:dim] + asked @ SHIFT[:dim, :dim].T)[:, None] + fresh
            each = [np.array([loss(asked[i], one) for one in xi[i, :n]]) for i, n in enumerate(samples)]
            values = np.array([part.mean() if part.size else 0.0 for part in each])
            taken = np.arange(most) < samples[:, None]
            if method.sees.observes:
                hidden = np.where(taken[..., None], xi, np.nan)  # what was not drawn must not be used
                state = _told(method, state, values, asked, hidden, taken, drawn)
            else:
                state = method.tell(state, values, drawn)
            noise.append(drawn)
            points.append(asked)
            seen.append(Seen(values, [xi[i, :n] for i, n in enumerate(samples)]))
            iterates.append(np.asarray(state.x))
        report = np.asarray(method.recommend(state))
    return Walk(noise, np.array(points), seen, np.array(iterates), report)
