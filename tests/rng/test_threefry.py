"""The generator gives JAX's numbers bit for bit; the normal law is the quantile function of its cells."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from driftopt.rng import seeds, threefry
from driftopt.rng.threefry import THREEFRY, normal

SEEDS = (0, 1, 77, 2**31 + 5)


def both(seed):
    theirs = jax.random.key(seed, impl="threefry2x32")
    return theirs, jax.random.wrap_key_data(jax.random.key_data(theirs), impl=THREEFRY)


def data(key):
    return np.asarray(jax.random.key_data(key))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numbers_are_jaxs_own(seed):
    theirs, ours = both(seed)
    for dtype in (jnp.uint8, jnp.uint16, jnp.uint32):
        for shape in ((), (3,), (2, 5, 7)):
            a, b = (np.asarray(jax.random.bits(key, shape, dtype)) for key in (theirs, ours))
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(jax.random.uniform(theirs, (9,)), jax.random.uniform(ours, (9,)))
    for number in (0, 1, 2**32 - 1):
        np.testing.assert_array_equal(
            *(data(jax.random.fold_in(key, np.uint32(number))) for key in (theirs, ours))
        )
    np.testing.assert_array_equal(*(data(jax.random.split(key, (2, 3))) for key in (theirs, ours)))
    np.testing.assert_array_equal(data(jax.random.key(seed, impl=THREEFRY)), data(theirs))


def test_wide_numbers_and_seeds_are_jaxs_own():
    with jax.enable_x64(True):
        theirs, ours = both(2**40 + 3)
        np.testing.assert_array_equal(
            *(np.asarray(jax.random.bits(key, (5,), jnp.uint64)) for key in (theirs, ours))
        )
        np.testing.assert_array_equal(data(jax.random.key(2**40 + 3, impl=THREEFRY)), data(theirs))


def test_the_known_answer_of_the_authors():
    """Random123's test vector for threefry2x32, 20 rounds, on all ones."""
    ones = jnp.uint32(0xFFFFFFFF)
    x, y = threefry.hashed((ones, ones), ones, ones)
    assert (int(x), int(y)) == (0x1CB996FC, 0xBB002BE7)


def test_mapped_keys_draw_what_each_draws_alone():
    keys = jax.vmap(lambda i: jax.random.fold_in(both(3)[1], i))(jnp.arange(4))
    together = jax.jit(jax.vmap(lambda key: jax.random.bits(key, (6,))))(keys)
    np.testing.assert_array_equal(together, np.stack([jax.random.bits(key, (6,)) for key in keys]))


@pytest.mark.parametrize(
    "axes",
    [(0, None, None, None), (None, None, 0, 1), (1, 1, 1, 1), (None, 1, None, 0), (None, None, None, 1)],
)
def test_words_are_hashed_along_any_axis(axes):
    """As NumPy hashes them one by one, whichever of the key's and the counter's words are mapped over."""
    draw, shapes = np.random.default_rng(3), {None: (4,), 0: (3, 4), 1: (4, 3)}
    words = [draw.integers(2**32, size=shapes[axis], dtype=np.uint32) for axis in axes]
    together = jax.jit(jax.vmap(lambda *four: threefry.hashed(four[:2], *four[2:]), axes))(*words)
    for lane in range(3):
        four = [
            word if axis is None else np.take(word, lane, axis)
            for word, axis in zip(words, axes, strict=True)
        ]
        alone = threefry.hashed(four[:2], *four[2:])
        np.testing.assert_array_equal([word[lane] for word in together], alone)


def test_a_program_for_any_number_of_words_hashes_them_too():
    """As `jax.export` makes one: its size is not known where the operations are written down."""
    (size,) = jax.export.symbolic_shape("size")
    shape = jax.ShapeDtypeStruct((size,), jnp.uint32)
    program = jax.export.export(jax.jit(lambda low: threefry.hashed((low, low), low, low)))(shape)
    words = np.arange(5, dtype=np.uint32)
    np.testing.assert_array_equal(program.call(words), threefry.hashed((words, words), words, words))


def test_more_numbers_than_the_counter_holds_are_refused():
    with pytest.raises(NotImplementedError, match="split the key"):
        jax.jit(lambda key: jax.random.bits(key, (2**32,))).lower(both(0)[1])


def test_normal_numbers_are_the_quantiles_of_their_cells():
    _, key = both(5)
    cells = np.asarray(jax.random.bits(key, (200_000,), jnp.uint32)) >> 9
    exact = stats.norm.ppf((cells + 0.5) * 2.0**-23)
    drawn = np.asarray(normal(key, (200_000,)), float)
    assert drawn.dtype == float
    assert np.abs(drawn - exact).max() < 2e-6


def test_the_outermost_cells_are_finite_and_symmetric(monkeypatch):
    corners = jnp.array([0, 2**32 - 1, 2**31, 2**31 - 1], jnp.uint32)
    monkeypatch.setattr(jax.random, "bits", lambda *_: corners)
    low, high, above, below = np.asarray(normal(None, (4,)))  # pyright: ignore[reportArgumentType]
    assert low == -high
    assert abs(high - stats.norm.isf(2.0**-24)) < 1e-4
    assert 0 < above < 1e-6
    assert below == -above


@pytest.mark.parametrize(("shift", "passes"), [(0.0, True), (0.01, False)])
def test_the_law_is_standard_normal(shift, passes):
    """Kolmogorov's distance of a million draws; a mean off by 0.01 is noticed."""
    drawn = np.asarray(normal(both(11)[1], (1_000_000,)), float) + shift
    assert (stats.kstest(drawn, "norm").pvalue > 1e-3) == passes


def test_numpys_words_are_the_keys_of_the_run():
    given = np.array([[0, 7], [2**31, (3 << 32) + 5]], np.uint64)
    method, oracle = seeds.run_words(given)
    for index in np.ndindex(2, 2):
        keys = seeds.run_keys(seeds.as_key(int(given[index])))
        np.testing.assert_array_equal([method[index], oracle[index]], [data(key) for key in keys])
