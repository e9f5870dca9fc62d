"""What ties the methods of the field to their neighbours: with a feature off, one is the other exactly."""

from dataclasses import replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.oracle import Sight
from driftopt.pytree import module
from support.recorded_world import walk
from support.worlds import Slow, shifting

CLOSE = {"rtol": 1e-12, "atol": 1e-13}


def test_gfm_plus_with_period_one_is_gfm():
    """Every iteration is fresh, with b′ pairs; the noise of a pair is one in both."""
    plus = methods.get("gfm+", radius=0.4, step=0.02, period=1, pairs=2, fresh_pairs=3)
    plain = methods.get("gfm", radius=0.4, step=0.02, directions=3)
    one, other = (driftopt.simulate(m, shifting(), budget=120, rng=4) for m in (plus, plain))
    np.testing.assert_allclose(one.x, other.x, rtol=1e-5, atol=1e-6)
    assert one.queries == other.queries == 120
    longer = replace(plus, period=2)
    assert not np.allclose(driftopt.simulate(longer, shifting(), budget=120, rng=4).x, other.x, atol=1e-4)


def test_guided_without_a_guide_is_the_companion_with_shorter_directions():
    """α = 1: w = z/√d. So gzo with (μ, β) walks as zo-ga-scheduled with (μ/√d, β/d)."""
    d, schedule = 4, {"decay": 0.9, "shrink": 0.9, "smallest": 1e-9, "batch": 2, "growth": 1}
    guided = methods.get("gzo-hs", radius=0.6, step=0.2, free=1.0, window=2, **schedule)
    # gzo's step has not decayed in its first iteration, the companion's has.
    plain = methods.get("zo-ga-scheduled", radius=0.6 / d**0.5, step=0.2 / d / 0.9, **schedule)
    one, other = walk(guided), walk(plain)
    np.testing.assert_allclose(one.points, other.points, **CLOSE)
    np.testing.assert_allclose(one.iterates, other.iterates, **CLOSE)


def test_same_sample_o2nc_with_fresh_samples_and_a_reset_is_option_one():
    same = methods.get("zo-o2nc-same", radius=0.5, step=0.01, block=5, output="final")
    off = replace(same, same=False, resets=True)
    assert off.sees is Sight.VALUES
    plain = methods.get("zo-o2nc-2pt", radius=0.5, step=0.01, block=5)
    one, other = (driftopt.simulate(m, shifting(), budget=200, rng=8) for m in (off, plain))
    np.testing.assert_array_equal(one.x, other.x)
    for feature in ({"same": True}, {"resets": False}):
        changed = driftopt.simulate(replace(off, **feature), shifting(), budget=200, rng=8)
        assert not np.allclose(changed.x, other.x, atol=1e-4)


GROWING = {"radius": 0.5, "step": 0.1, "batch": 2, "growth": 3}  # m_k = 2 + 3k


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        # The guide's samples at x_k, then the two points, of which the first has a guide's place.
        ("gzo-ns", {}, [[2, 0], [2, 2], [5, 0], [5, 5], [8, 0], [8, 8]]),
        ("gzo-hs", {"window": 2}, [[2, 2], [5, 5], [8, 8]]),
        ("zo-ga-scheduled", {}, [[2, 2], [5, 5], [8, 8]]),
        ("zo-ogvr", {"first": 7}, [[7], [2], [5], [8]]),
        ("zo-ogvr-v", {"first": 7}, [[7], [2], [5], [8]]),
    ],
)
def test_batches_grow_as_the_papers_say(name, params, expected):
    method = methods.get(name, **GROWING, **params)
    found = [np.asarray(method.samples(t, 3)).tolist() for t in range(len(expected))]
    assert found == expected


def test_gfm_plus_asks_in_turn():
    """b′ = 3 pairs every m = 3 iterations, in between b = 2 at the new point and the same 2 at the old."""
    method = methods.get("gfm+", radius=0.5, step=0.1, period=3, pairs=2, fresh_pairs=3)
    fresh, between = [1] * 6 + [0] * 2, [1] * 8
    assert [np.asarray(method.samples(t, 3)).tolist() for t in range(4)] == [fresh, between, between, fresh]
    streams = [np.asarray(method.streams(t, 3))[: sum(row)].tolist() for t, row in ((0, fresh), (1, between))]
    assert streams == [[0, 1, 2, 0, 1, 2], [0, 1, 0, 1, 0, 1, 0, 1]]
    assert method.points(3) == 8
    assert method.queries(3) == 6


@pytest.mark.parametrize("name", ["zo-ogvr", "zo-ogvr-v"])
def test_ogvr_without_its_control_value_is_the_gaussian_one_point_method(name):
    """c = 0: x ← x − β_k F̄(x + μ_k z)/μ_k · z, iteration by iteration."""
    numbers = {"radius": 0.3, "step": 0.02, "batch": 2, "growth": 1, "first": 2, "window": 2}
    kind = type(methods.get(name))
    method = kind(**vars(methods.get(name, **numbers)))

    @module
    class Uncontrolled(kind):
        sees: ClassVar[Sight] = kind.sees

        def tell(self, state, values, noise=None):
            return super().tell(state, values, noise)._replace(control=jnp.zeros(()))

    run = walk(Uncontrolled(**vars(method)))
    x = run.iterates[1]
    for k in range(len(run.seen) - 1):
        z, mu = run.noise[k + 1][0], 0.3 * 0.95**k
        np.testing.assert_allclose(run.points[k + 1][0], x + mu * z, **CLOSE)
        x = x - 0.02 * 0.95 ** (k + 1) * run.seen[k + 1].values[0] / mu * z
        np.testing.assert_allclose(run.iterates[k + 2], x, **CLOSE)


def test_dfo_that_holds_nothing_is_the_one_point_method_with_decaying_numbers():
    """τ = 1 and λ = 1.

    X ← x − η_k (d/δ_k) F u, δ_k = δ_0/(1 + k)^β, η_k = η_0/(1 + k)^α: zo-og, number by number.
    """
    dfo = methods.get("dfo", radius=0.5, step=0.02, forget=1.0, hold=1e-6)
    run = walk(dfo)
    x = run.iterates[0]
    for k, (noise, seen) in enumerate(zip(run.noise, run.seen, strict=True)):
        og = methods.get("zo-og", radius=0.5 / (1 + k) ** (1 / 6), step=0.02 / (1 + k) ** (2 / 3))
        with jax.enable_x64(True):
            state = og.init(jax.random.key(0), jnp.asarray(x, jnp.float64))
            drawn = og.noise(jax.random.key(0), 0, 4)._replace(directions=jnp.asarray(noise))
            np.testing.assert_allclose(run.points[k], og.ask(state, drawn), **CLOSE)
            x = np.asarray(og.tell(state, jnp.asarray(seen.values), drawn).x)
        np.testing.assert_allclose(run.iterates[k + 1], x, **CLOSE)


def test_holding_for_an_epoch_is_settling():
    """zo-epoch with n = 3 does what zo-og does when the driver holds every decision for 3 deployments."""
    problem = shifting(kind=Slow)
    epochs = methods.get("zo-epoch", radius=0.4, step=0.01, hold=3)
    trace = driftopt.simulate(epochs, problem, budget=90, rng=5)

    @module
    class SameDirections(type(methods.get("zo-og", radius=1, step=1))):
        """zo-og that draws, in iteration t, what the epochs draw with their answer 3t."""

        def noise(self, key, count, dim):
            return super().noise(key, 0, dim)._replace(directions=epochs.noise(key, 3 * count, dim))

    settled = SameDirections(**vars(methods.get("zo-og", radius=0.4, step=0.01)))
    other = driftopt.simulate(settled, problem, budget=90, rng=5, settle=3)
    assert trace.queries == other.queries == 90
    np.testing.assert_allclose(trace.x, other.x, rtol=1e-4, atol=1e-5)


def test_hlf_without_its_filters_is_descent_on_the_residual():
    """β = 1, α = 0: x ← x − η d/r (h_k − h_{k−1}) u_k."""
    run = walk(methods.get("hlf-szo", radius=0.5, step=0.01, filter=1.0, momentum=0.0))
    x = run.iterates[1]
    for before, now, u, after in zip(run.seen, run.seen[1:], run.noise[1:], run.iterates[2:], strict=False):
        x = x - 0.01 * 4 / 0.5 * (now.values[0] - before.values[0]) * u[0]
        np.testing.assert_allclose(after, x, **CLOSE)
