"""`minimize`: SciPy's manners, bounds, and numbers that are reported."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import driftopt
from driftopt.space import Space


def o2nc(**params):
    return {"method": "zo-o2nc-2pt", "params": params}


def noisy_bowl(seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: float(((x - 1) ** 2).sum() + 0.1 * rng.normal())


def test_it_minimises_with_nothing_but_a_radius():
    result = driftopt.minimize(noisy_bowl(), np.zeros(4), budget=3000, radius=0.3, rng=0, final_queries=50)
    assert result.success
    assert result.nfev == 3000
    assert abs(result.x - 1).max() < 0.3
    assert result.fun == pytest.approx(result.history["value"][-50:].mean())
    assert 0 < result.fun_sem < 0.1
    assert result.params["radius"] == 0.3
    assert result.params["seed"] == 0
    assert result.x.dtype == np.float64
    assert result.x.flags.writeable
    assert not jax.config.jax_enable_x64


def test_maximize_mirrors_minimize():
    low = driftopt.minimize(noisy_bowl(), np.zeros(2), budget=200, radius=0.3, rng=1)
    fun = noisy_bowl()
    high = driftopt.minimize(
        lambda x: -fun(x), np.zeros(2), budget=200, radius=0.3, rng=1, direction="maximize"
    )
    np.testing.assert_array_equal(low.x, high.x)
    np.testing.assert_array_equal(low.history["value"], -high.history["value"])


def test_vectorized_calls_give_the_same_path():
    def many(points):
        return ((points - 1) ** 2).sum(axis=1)

    def one(x):
        return ((x - 1) ** 2).sum()

    common = {"budget": 120, "radius": 0.3, "rng": 1, "method": "zo-o2nc-2pt", "params": {"batch": 3}}
    a = driftopt.minimize(many, np.zeros(2), vectorized=True, **common)
    b = driftopt.minimize(one, np.zeros(2), **common)
    np.testing.assert_allclose(a.x, b.x, rtol=1e-12)
    np.testing.assert_array_equal(a.history["x"], b.history["x"])


def test_every_queried_point_is_inside_the_bounds(name):
    entry, bounds = driftopt.methods.entry(name), [(-0.5, 0.5), (None, 0.2), (0.0, None)]
    params = {key: value for key, value in entry.example.items() if key not in ("radius", "budget")}
    seen = []

    def fun(x):
        seen.append(x)
        return float(((x - 1) ** 2).sum())

    result = driftopt.minimize(
        fun, [0.1, 0.1, 0.1], budget=300, radius=2.0, method=name, params=params, bounds=bounds, rng=0
    )
    seen.append(result.x)
    low, high = np.array([-0.5, -np.inf, 0]), np.array([0.5, 0.2, np.inf])
    assert (np.array(seen) >= low).all()
    assert (np.array(seen) <= high).all()


def test_a_start_on_a_bound_is_left_where_that_is_better(name):
    """Without noise: reflection alone would fold both points of a pair onto one, for ever."""
    entry, start = driftopt.methods.entry(name), [0.0, 50.0, 20.0]
    params = {key: value for key, value in entry.example.items() if key not in ("radius", "budget")}
    run = {"radius": 5.0, "bounds": [(0, 50)] * 3, "method": name, "params": params, "rng": 0}
    result = driftopt.minimize(lambda x: float(np.abs(x - 25).sum()), start, budget=400, **run)
    stuck = np.isin(start, [0.0, 50.0])
    assert (np.abs(result.x - 25)[stuck] < 25).all()
    assert (np.abs(result.x - start)[stuck] > 0.01).all()
    inside = (result.history["x"] >= 0) & (result.history["x"] <= 50)
    assert inside.all()


def test_a_start_on_a_bound_is_kept_where_nothing_is_learned(name):
    """A flat function: the recommendation is x0 itself, not where the walk began."""
    entry = driftopt.methods.entry(name)
    params = {key: value for key, value in entry.example.items() if key not in ("radius", "budget")}
    run = {"radius": 5.0, "bounds": [(0, 50)] * 3, "method": name, "params": params, "rng": 0}
    result = driftopt.minimize(lambda x: 0.0, [0.0, 49.9, 25.0], budget=60, **run)
    np.testing.assert_array_equal(result.x, [0.0, 49.9, 25.0])


@pytest.mark.parametrize("kind", [np.float32, np.int64, int, bool, np.array, lambda y: [y], lambda y: [[y]]])
def test_any_single_real_number_will_do(kind):
    """The quick way for floats leads where the way for everything else leads."""
    run = {"budget": 40, "radius": 0.3, "rng": 0}
    plain = driftopt.minimize(lambda x: float(x.sum() > 1), np.zeros(2), **run)
    other = driftopt.minimize(lambda x: kind(float(x.sum() > 1)), np.zeros(2), **run)
    np.testing.assert_array_equal(other.history["x"], plain.history["x"])
    np.testing.assert_array_equal(other.history["value"], plain.history["value"])
    assert other.history["value"].dtype == np.float64


@pytest.mark.parametrize("batch", [1, 3])
def test_the_history_is_what_the_function_saw_and_said(batch):
    """Through several windows of noise, whatever the function does to its x, and in JAX's own precision."""
    seen, said = [], []

    def fun(x):
        assert jnp.asarray(1.0).dtype == jnp.float32
        seen.append(x.copy())
        said.append(float(((x - 1) ** 2).sum()))
        x[:] = np.nan
        return said[-1]

    result = driftopt.minimize(
        fun, np.zeros(2), budget=5000, radius=0.1, rng=0, final_queries=8, **o2nc(step=0.01, batch=batch)
    )
    iterations, cost = 4992 // (2 * batch), 2 * batch
    np.testing.assert_array_equal(result.history["x"], seen)
    np.testing.assert_array_equal(result.history["value"], said)
    np.testing.assert_array_equal(
        result.history["iteration"], np.repeat(range(iterations + 1), [cost] * iterations + [8])
    )
    np.testing.assert_array_equal(result.history["x"][-8:], np.tile(result.x, (8, 1)))


def test_callbacks_in_both_styles_and_a_clean_stop():
    seen = []

    def whole(intermediate_result):
        seen.append(intermediate_result)
        if intermediate_result.nit == 5:
            raise StopIteration

    result = driftopt.minimize(noisy_bowl(), [0.0], budget=100, radius=0.1, rng=0, callback=whole)
    assert (result.nit, result.status, result.success) == (5, 99, False)
    assert [r.nfev for r in seen] == [1, 2, 3, 4, 5]
    points = []
    driftopt.minimize(noisy_bowl(), [0.0], budget=5, radius=0.1, rng=0, callback=points.append)
    assert [p.shape for p in points] == [(1,)] * 5


@pytest.mark.parametrize("style", ["whole", "point"])
def test_it_is_a_method_of_scipy(style):
    seen = []

    def whole(intermediate_result):
        seen.append(intermediate_result.x)

    result = scipy.optimize.minimize(
        lambda x, shift: ((x - shift) ** 2).sum(),
        np.zeros(2),
        args=(1.0,),
        method=driftopt.scipy_method,
        bounds=[(-2, 2)] * 2,
        callback=whole if style == "whole" else seen.append,
        options={"budget": 40, "radius": 0.3, "rng": 0},
    )
    assert abs(result.x - 1).max() < 0.3
    assert len(seen) == result.nit
    assert seen[0].shape == (2,)


def test_scipy_method_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="constraints"):
        driftopt.scipy_method(noisy_bowl(), [0.0], constraints=[{}], budget=10, radius=0.1)
    with pytest.raises(ValueError, match="jac"):
        driftopt.scipy_method(noisy_bowl(), [0.0], jac=lambda x: x, budget=10, radius=0.1)


def test_a_space_is_a_start_with_its_bounds():
    bounds = [(-0.2, 4), (-4, 0.2)]
    run = {"budget": 60, "rng": 0, "radius": 0.3}
    one = driftopt.minimize(noisy_bowl(), np.zeros(2), bounds=bounds, **run)
    other = driftopt.minimize(noisy_bowl(), Space.build(np.zeros(2), bounds=bounds), **run)
    np.testing.assert_array_equal(one.history["x"], other.history["x"])
    with pytest.raises(ValueError, match="has its own bounds"):
        driftopt.minimize(noisy_bowl(), Space.build(np.zeros(2)), bounds=bounds, **run)
