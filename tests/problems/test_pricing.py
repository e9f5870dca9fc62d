"""Pricing: the exact expectation against full enumeration, sampled demand against the multinomial law."""

from itertools import product
from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from driftopt.data.prices import LOG_DEVIATION, LOG_MEAN, LOG_SKEWNESS, synthetic_prices
from driftopt.problems import Pricing, multinomial

LIMIT = 5.0  # of |z|: a false alarm of 6e-7
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


# One program each instead of one for every operation.
objective, cumulative = jax.jit(Pricing.objective), jax.jit(multinomial.cumulative)


@jax.jit
def sold_and_slope(problem, x):
    demand = problem.draw(jax.random.key(0), x)
    return problem.demand(x).sales, demand, jax.grad(problem.value)(x, demand)


@pytest.fixture(scope="module")
def problem() -> Pricing:
    return Pricing.synthetic(3)


def tiny(buyers: int = 5, products: int = 3) -> Pricing:
    return Pricing.from_prices([100, 300, 220, 150][:products], cost_seed=1, buyers=buyers)


def outcomes(problem: Pricing, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every demand vector, and its multinomial probability in plain NumPy."""
    theta, gamma = np.asarray(problem.theta, float), np.asarray(problem.gamma, float)
    weights = np.append(np.exp(gamma * (theta - x)), float(problem.outside))
    shares, m = weights / weights.sum(), problem.buyers
    every = [z for z in product(range(m + 1), repeat=problem.dim) if sum(z) <= m]
    chances = []
    for z in every:
        full = (*z, m - sum(z))
        ways = factorial(m) / np.prod([factorial(k) for k in full])
        chances.append(ways * np.prod(shares ** np.array(full)))
    return np.array(every), np.array(chances)


def paper_cost(problem: Pricing, z: np.ndarray) -> np.ndarray:
    """c_i(z) by the paper's three cases."""
    w, (low, high) = np.asarray(problem.unit_cost, float), problem.thresholds
    middle = w * (z - low) + 2 * w * low
    above = 3 * w * (z - high) + w * (high - low) + 2 * w * low
    return np.where(z <= low, 2 * w * z, np.where(z <= high, middle, above))


@pytest.mark.parametrize("buyers", [1, 4, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_objective_equals_full_enumeration(buyers, seed):
    problem = tiny(buyers)
    x = np.random.default_rng(seed).uniform(-0.5, 1.5, problem.dim)
    demands, chances = outcomes(problem, x)
    assert np.isclose(chances.sum(), 1)
    values = paper_cost(problem, demands).sum(axis=1) - demands @ x
    with jax.enable_x64(True):
        wide = jnp.asarray(x, jnp.float64)
        assert np.isclose(objective(problem, wide), chances @ values, rtol=1e-9, atol=1e-12)
        value = jax.jit(problem.value)
        one_by_one = [float(value(wide, jnp.asarray(z, jnp.float64))) for z in demands]
        assert np.allclose(one_by_one, values, rtol=1e-9, atol=1e-12)
    narrow = objective(problem, jnp.asarray(x, jnp.float32))
    assert np.isclose(narrow, chances @ values, rtol=1e-5, atol=1e-5)


def distance(problem: Pricing, x: np.ndarray, believed: np.ndarray) -> float:
    """The chi-square statistic of 100,000 sampled demands against the law at the prices `believed`."""
    keys = jax.random.split(jax.random.key(3), 100_000)
    draw = jax.jit(jax.vmap(lambda key: problem.draw(key, jnp.asarray(x, jnp.float32))))
    found = np.asarray(draw(keys)).astype(int)
    demands, chances = outcomes(problem, believed)
    place = {tuple(z): i for i, z in enumerate(demands.tolist())}
    seen = np.bincount([place[tuple(z)] for z in found.tolist()], minlength=len(place))
    expected = chances * len(found)
    return float(np.sum((seen - expected) ** 2 / expected))


def test_demand_follows_the_multinomial_law():
    problem, x = tiny(3, 2), np.array([0.15, 0.6])
    alarm = chi2.isf(1e-6, len(outcomes(problem, x)[0]) - 1)
    assert distance(problem, x, x) < alarm
    assert distance(problem, x, x + np.array([0.005, 0])) > alarm  # the twin: prices half a cent off


def z_score(problem: Pricing, x: jax.Array, exact: jax.Array, n: int = 20_000) -> float:
    keys = jax.random.split(jax.random.key(11), n)
    draw = jax.jit(lambda keys: jax.lax.map(lambda key: problem.sample(key, x), keys, batch_size=1000))
    values = np.asarray(draw(keys), float)
    return float((values.mean() - float(exact)) / (values.std() / np.sqrt(n)))


@pytest.mark.parametrize("seed", [0, 1])
def test_sampled_means_equal_the_exact_objective(problem, seed):
    x = jnp.asarray(np.random.default_rng(seed).uniform(0, 1.2, problem.dim), jnp.float32)
    assert abs(z_score(problem, x, problem.objective(x))) < LIMIT
    assert abs(z_score(problem, x, problem.objective(x + 0.05))) > LIMIT  # the twin


@settings(max_examples=80, deadline=None)
@given(st.lists(FINITE, min_size=4, max_size=4), st.integers(0, 1000))
def test_any_finite_prices_give_finite_values_and_whole_demand(x, seed):
    problem, x = tiny(9, 4), jnp.array(x, jnp.float32)
    demand, value, expected, sold = map(np.asarray, looked_at(problem, jax.random.key(seed), x))
    assert (demand >= 0).all()
    assert demand.sum() <= problem.buyers
    assert (demand == np.round(demand)).all()
    assert np.isfinite(value)
    assert np.isfinite(expected)
    assert np.isfinite(sold).all()


@jax.jit
def looked_at(problem, key, x):
    demand = problem.draw(key, x)
    return demand, problem.value(x, demand), problem.objective(x), jax.tree.leaves(problem.demand(x))[0]


def test_nan_prices_stay_nan(problem):
    x = problem.x0.at[4].set(jnp.nan)
    assert np.isnan(problem.objective(x))
    assert np.isnan(problem.sample(jax.random.key(0), x))


def test_expected_demand_adds_up(problem):
    x = jnp.asarray(np.random.default_rng(2).uniform(0.2, 1, problem.dim), jnp.float32)
    demand = problem.demand(x)
    assert np.isclose(demand.sales.sum() + demand.nothing, problem.buyers, rtol=1e-5)
    assert np.isclose(demand.revenue, np.sum(np.asarray(x) * demand.sales), rtol=1e-5)
    assert np.isclose(demand.profit, demand.revenue - demand.cost, rtol=1e-4, atol=1e-4)
    assert np.isclose(demand.profit, -problem.objective(x))


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
@pytest.mark.parametrize("size", [1, 11, 120, 241, 40_000])
def test_counting_equals_a_sorted_search(size, backend, monkeypatch):
    """Both forms; nobody is at or below −1, everybody at or below the last cell, a tie counts."""
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    rng = np.random.default_rng(size)
    buyers = rng.integers(0, multinomial.CELLS, size).astype(np.int16)
    edges = np.array(
        [-1, buyers[0], *np.sort(rng.integers(0, multinomial.CELLS, 5)), multinomial.CELLS - 1], np.int16
    )
    counted = multinomial.count_up_to(jnp.asarray(buyers), jnp.asarray(edges))
    assert np.array_equal(counted, np.searchsorted(np.sort(buyers), edges, side="right"))
    assert (counted[0], counted[-1]) == (0, size)


@pytest.mark.parametrize(("dithers", "exact"), [(256, True), (1, False)])
def test_the_dither_makes_every_buyers_law_exact(dithers, exact):
    """Averaged over all dithers, the share of the cells below an edge is the edge; with one, it is not."""
    share = np.random.default_rng(0).random(500).astype(np.float32)
    weights = jnp.asarray(np.stack([share, 1 - share]))
    last_cells = jax.jit(multinomial.last_cells)  # run by operations, it is compiled anew for every dither
    drawn = [
        np.asarray(last_cells(jnp.float32((v + 0.5) / dithers), weights[:1], weights[1]), float) + 1
        for v in range(dithers)
    ]
    off = np.abs(np.mean(drawn, axis=0)[0] / multinomial.CELLS - share).max()
    assert (off < 2.0**-22) == exact


def test_the_optimum_is_a_stationary_point_that_beats_every_start(problem):
    best, quick = problem.optimum(starts=2), problem.optimum(starts=1)
    assert np.array_equal(quick.x, problem.optimum(starts=1).x)
    assert np.isclose(quick.value, best.value, rtol=1e-5)
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(problem.objective))(jnp.asarray(best.x))
        assert np.abs(slope).max() < 1e-3
    assert best.value < problem.objective(problem.x0) - 1


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0, 1.5, width=32), min_size=4, max_size=4))
def test_retraining_would_raise_every_price_at_any_prices(x):
    """E ∇ₓF(x; ξ) = −E ξ < 0 in every coordinate: the evidence that there is no finite stable point.

    (Far outside this range a share may be below the smallest float32.)
    """
    problem = tiny(9, 4)
    sales, demand, slope = sold_and_slope(problem, jnp.array(x, jnp.float32))
    assert (np.asarray(sales) > 0).all()
    np.testing.assert_allclose(slope, -demand, rtol=1e-6)


def test_synthetic_prices_have_the_published_moments():
    logs = np.log(synthetic_prices(0, 40_000))
    error = LOG_DEVIATION / np.sqrt(logs.size)
    assert abs(logs.mean() - LOG_MEAN) < 6 * error  # clipping and rounding add a little
    assert np.isclose(logs.std(), LOG_DEVIATION, rtol=0.02)
    assert np.isclose(np.mean(((logs - logs.mean()) / logs.std()) ** 3), LOG_SKEWNESS, atol=0.1)


def test_price_files(tmp_path):
    path = tmp_path / "week.csv"
    path.write_bytes(b"\xef\xbb\xbf100\r\n300\r\n200\r\n")
    assert np.allclose(Pricing.from_prices(path).theta, [0.1, 0.9, 0.5])
    assert Pricing.from_prices(str(path), products=2).dim == 2
    path.write_text("100 dear")
    with pytest.raises(ValueError, match="numbers alone"):
        Pricing.from_prices(path)
    with pytest.raises(FileNotFoundError, match="no price file"):
        Pricing.from_prices(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prices": [5, 5]}, "two different numbers"),
        ({"prices": [1, np.inf]}, "prices"),
        ({"products": 9}, "9 products were asked for"),
        ({"buyers": 0}, "buyers"),
        ({"cost_seed": -1}, "cost_seed"),
    ],
)
def test_mistakes_are_refused_at_the_door(change, says):
    with pytest.raises(ValueError, match=says):
        Pricing.from_prices(**{"prices": [1, 2, 3], **change})
