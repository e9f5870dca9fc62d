"""`minimize` where something goes wrong: what was spent is kept, and a sentence names the query."""

import pickle

import numpy as np
import pytest

import driftopt


def o2nc(**params):
    return {"method": "zo-o2nc-2pt", "params": params}


def noisy_bowl(seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: float(((x - 1) ** 2).sum() + 0.1 * rng.normal())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (1 + 2j, "real number"),
        ("three", "real number"),
        (None, "real number"),
        ([1.0, 2.0], "2 values"),
        (np.ma.array([1.0, 2.0], mask=True).mean(), "finite"),
        (np.ma.array([3], mask=True), "finite"),
    ],
)
def test_a_bad_value_names_its_query_and_loses_nothing(answer, message):
    values = iter([1.0] * 6 + [answer])
    with pytest.raises(driftopt.MinimizeError, match=f"query 7.*{message}") as caught:
        driftopt.minimize(lambda x: next(values), [0.0], budget=100, radius=0.1, rng=0)
    assert caught.value.result.nfev == 6
    assert caught.value.result.history["value"].tolist() == [1.0] * 6
    assert caught.value.result.nit == 6
    assert not caught.value.result.success


def test_an_exception_is_chained_and_carries_the_partial_result():
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 4:
            raise ZeroDivisionError("shop closed")
        return 1.0

    with pytest.raises(driftopt.MinimizeError, match=r"query 4.*shop closed") as caught:
        driftopt.minimize(fun, [0.0], budget=100, radius=0.1, rng=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.result.nfev == 3


def test_ctrl_c_between_queries_carries_the_result_too():
    def callback(x):
        raise KeyboardInterrupt

    with pytest.raises(driftopt.MinimizeInterrupted) as caught:
        driftopt.minimize(noisy_bowl(), [0.0], budget=100, radius=0.1, rng=0, callback=callback)
    assert caught.value.result.nfev == 1


def test_a_bad_value_among_many_is_named_and_the_others_are_kept():
    def fun(points):
        values = np.ones(len(points))
        values[2] = np.nan
        return values

    wide = {"method": "zo-sph", "params": {"step": 0.1, "directions": 2}, "vectorized": True}
    with pytest.raises(driftopt.MinimizeError, match="query 3: the function gave nan") as caught:
        driftopt.minimize(fun, [0.0], budget=100, radius=0.1, rng=0, **wide)
    assert caught.value.result.nfev == 3
    assert caught.value.result.history["x"].shape == (3, 1)


@pytest.mark.parametrize("error", [ValueError("closed"), KeyboardInterrupt()])
def test_failures_travel_between_processes_with_their_result(error):
    def fun(x):
        raise error

    with pytest.raises((driftopt.MinimizeError, driftopt.MinimizeInterrupted)) as caught:
        driftopt.minimize(fun, [0.0], budget=100, radius=0.1, rng=0)
    arrived = pickle.loads(pickle.dumps(caught.value))
    assert type(arrived) is caught.type
    assert str(arrived) == str(caught.value)
    assert arrived.result.nfev == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radius": None, "method": "zo-o2nc-2pt"}, "radius is needed"),
        ({"radius": 0}, "radius"),
        ({"budget": 1, "method": "zo-o2nc-2pt"}, "too small"),
        ({"x0": [[1.0, 2.0]]}, "vector"),
        ({"x0": [float("nan")]}, "finite"),
        ({"method": "zo-o2nc"}, "did you mean zo-o2nc-2pt"),
        ({"params": {"stepp": 1}}, "stepp"),
        (o2nc(step=0), "step"),
        (o2nc(output="best"), "final, last-block, random-block"),
        ({"params": {"radius": 1.0}}, "once"),
        ({"params": {"budget": 0}}, "budget"),
        (
            {"radius": None, "method": "zo-o2nc-2pt", "bounds": [(0, None)]},
            "finite bounds for every coordinate",
        ),
        ({"bounds": [(0, 1), (0, 1)]}, "1 pairs"),
        ({"bounds": [(1, 0)]}, "below"),
        ({"radius": [0.1, 0.2]}, "radius"),
        (o2nc(step=[0.1]), "step"),
        ({"budget": 2**31}, "below 2\\^31"),
        ({"bounds": [(1, 2)]}, "outside"),
        ({"final_queries": 100}, "final_queries"),
    ],
)
def test_bad_input_is_a_clear_value_error(change, message):
    good = {"x0": [0.0], "budget": 100, "radius": 0.1, "rng": 0}
    arguments = {**good, **change}
    with pytest.raises(ValueError, match=message):
        driftopt.minimize(noisy_bowl(), arguments.pop("x0"), **arguments)


def test_a_diverged_walk_stops_before_it_asks_for_nonsense():
    """The function stays finite far away, so its values alone would not show it."""
    seen = []

    def fun(x):
        seen.append(x)
        return float(np.clip(np.abs(x).sum(), 0, 1e300))

    with pytest.raises(driftopt.MinimizeError, match="diverged") as caught:
        driftopt.minimize(
            fun, [1.0], budget=5000, radius=0.1, method="zo-og", params={"step": 1e6}, bounds=None, rng=0
        )
    assert np.isfinite(seen).all()
    assert caught.value.result.nfev == len(seen)
