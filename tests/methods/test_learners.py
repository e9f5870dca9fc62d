"""Online learners against their textbook forms, and the draw of the reported block."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from driftopt import methods
from driftopt.methods import learners, output_rules

REACH = 0.3


def play(learner, gradients, reach=REACH, ends=()):
    """The increments Δ_2, Δ_3, … of a run of rounds in float64; `ends` are the rounds that close a block."""
    with jax.enable_x64(True):
        increment = jnp.zeros(gradients.shape[1], jnp.float64)
        memory, path = learner.init(increment), []
        for t, g in enumerate(gradients):
            told = learners.Round(jnp.asarray(g), jnp.float64(reach), jnp.asarray(t in ends))
            memory, increment = learner.update(memory, increment, told)
            if t in ends:
                increment = jnp.zeros_like(increment)
            path.append(np.asarray(increment))
    return np.array(path)


def gradients(rounds=12, dim=3, seed=0):
    return np.random.default_rng(seed).standard_normal((rounds, dim)) * np.array([3.0, 0.2, 1.0])


def textbook(steps, seen, reach=REACH):
    path, increment = [], np.zeros(seen.shape[1])
    for step, g in zip(steps, seen, strict=True):
        increment = increment - step * g
        increment = increment * min(1, reach / np.linalg.norm(increment))
        path.append(increment)
    return np.array(path)


def test_ogd_is_projected_gradient_descent():
    seen = gradients()
    expected = textbook([0.05] * len(seen), seen)
    np.testing.assert_allclose(play(learners.OGD(0.05), seen), expected, rtol=1e-6)
    assert np.isclose(np.linalg.norm(expected, axis=1), REACH).any(), "the projection must have been at work"


def test_adagrad_norm_first_block_is_the_textbook():
    """η_t = D/√(Σ_{s≤t} ‖g_s‖²)."""
    seen = gradients()
    steps = REACH / np.sqrt(np.cumsum((seen**2).sum(axis=1)))
    np.testing.assert_allclose(play(learners.AdaGradNorm(), seen), textbook(steps, seen), rtol=1e-13)
    assert not np.allclose(play(learners.AdaGradNorm(), seen), textbook(steps * 1.001, seen), rtol=1e-13)


def test_adagrad_norm_later_blocks_average_over_blocks():
    """In block k the step is D√k/√(Σ ‖g‖²), and increments restart at 0."""
    seen, block = gradients(), 4
    path = play(learners.AdaGradNorm(), seen, ends={3, 7, 11})
    squares = np.cumsum((seen**2).sum(axis=1))
    for k in range(3):
        rounds = slice(k * block, (k + 1) * block - 1)
        steps = REACH * np.sqrt((k + 1) / squares[rounds])
        np.testing.assert_allclose(path[rounds], textbook(steps, seen[rounds]), rtol=1e-13)


@settings(max_examples=25, deadline=None)
@given(scale=st.floats(1e-6, 1e6), seed=st.integers(0, 1000))
def test_adagrad_norm_is_scale_free(scale, seed):
    seen = gradients(5, seed=seed)
    once, scaled = (play(learners.AdaGradNorm(), g) for g in (seen, scale * seen))
    np.testing.assert_allclose(once, scaled, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("learner", [learners.AdaGradNorm(), learners.OGD(0.1)])
def test_zero_gradients_move_nothing(learner):
    np.testing.assert_array_equal(play(learner, np.zeros((3, 2))), 0)


# XLA flushes subnormal numbers to 0.
FLOATS = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)


@settings(max_examples=50, deadline=None)
@given(vector=st.lists(FLOATS, min_size=1, max_size=5), reach=st.floats(2**-10, 2**10, width=32))
def test_projection_stays_in_the_ball(vector, reach):
    """Even where ‖v‖² overflows float32; inside the ball nothing changes."""
    v = jnp.asarray(vector, jnp.float32)
    projected = np.asarray(learners.project(v, jnp.float32(reach)), np.float64)
    assert np.isfinite(projected).all()
    assert np.linalg.norm(projected) <= reach * (1 + 1e-5)
    if np.linalg.norm(np.asarray(v, np.float64)) < reach * (1 - 1e-5):
        np.testing.assert_array_equal(projected, v)


# The reported block: the draw is uniform, whatever the number of blocks.

BLOCKS, LANES, BLOCK = 6, 60_000, 3


@partial(jax.jit, static_argnums=0)
def _chosen(rule, picks):
    """The block each lane reports when y_t = the number of t's block, from picks of shape (lanes, rounds)."""

    def lane(picks):
        blocks = output_rules.init(rule, jnp.full(1, -1.0, jnp.float32))
        for t in range(BLOCKS * BLOCK):
            y, ends = jnp.full(1, t // BLOCK, jnp.float32), jnp.asarray((t + 1) % BLOCK == 0)
            blocks = output_rules.update(rule, blocks, y, jnp.asarray(True), ends, picks[t])
        return blocks.chosen[0]

    return jax.vmap(lane)(picks)


@pytest.fixture(scope="module", params=["zo-o2nc-2pt", "zo-sgd"])
def picks(request):
    """The picks that a method draws for itself, (lanes, rounds)."""
    method = methods.get(request.param, radius=1.0, step=1.0, output="random-block")
    draw = jax.vmap(jax.vmap(lambda key, t: method.noise(key, t, 2).pick, (None, 0)), (0, None))
    return jax.jit(draw)(jax.random.split(jax.random.key(3), LANES), jnp.arange(BLOCKS * BLOCK))


def uneven(chosen):
    """Whether a chi-square test at 1e-6 denies that every block is as likely."""
    counts = np.bincount(np.asarray(chosen).round().astype(int), minlength=BLOCKS)
    return ((counts - LANES / BLOCKS) ** 2 / (LANES / BLOCKS)).sum() > chi2.isf(1e-6, BLOCKS - 1)


def test_random_block_is_uniform(picks):
    assert not uneven(_chosen("random-block", picks))
    assert uneven(_chosen("random-block", picks**1.05)), "a slightly bent draw must be seen"


def test_last_block_is_the_last(picks):
    np.testing.assert_array_equal(_chosen("last-block", picks[:10]), BLOCKS - 1)
