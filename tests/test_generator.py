"""driftopt as a generator of the gest-api standard."""

from contextlib import suppress

import numpy as np
import pytest

import driftopt
from driftopt.drivers import host

vocs = pytest.importorskip("gest_api.vocs")
from driftopt.generator import Generator  # noqa: E402

SPACE = {"price": [0.0, 9.0], "size": [-1.0, 1.0]}


def build(objective="MINIMIZE", **more):
    space = vocs.VOCS(variables=SPACE, objectives={"f": objective}, constants={"shop": 7})
    return Generator(space, **{"budget": 60, "rng": 5, "start": {"price": 2.0, "size": 0.1}, **more})


def bowl(x, noise):
    return float((x[0] - 5) ** 2 + x[1] ** 2 + noise.normal())


@pytest.mark.parametrize("objective", ["MINIMIZE", "MAXIMIZE"])
@pytest.mark.parametrize("params", [{}, {"method": "zo-sph", "params": {"step": 0.01, "batch": 3}}])
def test_it_walks_as_minimize_does(objective, params):
    """Asked in order and told in order it is `minimize`, to the bit."""
    sign, noise = (1 if objective == "MINIMIZE" else -1), np.random.default_rng(0)
    generator = build(objective, **params)
    spent = 0
    while points := generator.suggest():
        spent += len(points)
        assert all(point["shop"] == 7 for point in points)
        results = [{**point, "f": sign * bowl([point["price"], point["size"]], noise)} for point in points]
        generator.ingest(results)
    noise = np.random.default_rng(0)
    result = driftopt.minimize(
        lambda x: sign * bowl(x, noise),
        [2.0, 0.1],
        budget=60,
        bounds=list(SPACE.values()),
        direction=objective.lower(),
        rng=5,
        **{"method": "walk"} | params,
    )
    assert spent == result.nfev
    assert generator.spent
    assert list(generator.recommend().values()) == result.x.tolist()
    with pytest.raises(ValueError, match="the budget is spent"):
        generator.suggest(1)


def test_values_may_come_in_any_order_and_failures_are_asked_again():
    ordered, mixed = build(), build()
    while points := ordered.suggest():
        ordered.ingest([{**point, "f": point["price"]} for point in points])
    while points := mixed.suggest():
        for point in reversed(points):
            mixed.ingest([{**point, "f": float("nan")}])
            (again,) = mixed.suggest(1)
            assert again == point
            mixed.ingest([{**again, "f": point["price"]}])
    assert ordered.recommend() == mixed.recommend()


@pytest.mark.parametrize("huge", [1e200, -1e300, 10**60])
def test_a_value_too_large_to_compute_with_is_asked_again(huge):
    """It ended the generator for good: no point was suggested any more, though the budget was not spent."""
    plain, disturbed = build(), build()
    while points := plain.suggest():
        plain.ingest([{**point, "f": point["price"]} for point in points])
    once = iter([huge])
    while points := disturbed.suggest():
        late = points[0]["_id"] >= 4
        told = [{**point, "f": point["price"]} for point in points]
        if late:
            told[0]["f"] = next(once, told[0]["f"])
        disturbed.ingest(told)
    assert disturbed.spent
    assert disturbed.recommend() == plain.recommend()


def walked(generator):
    """All points of a generator that goes on after Ctrl-C."""
    asked = []
    while points := generator.suggest():
        asked += points
        with suppress(KeyboardInterrupt):
            generator.ingest([{**point, "f": point["price"]} for point in points])
    return asked


def test_ctrl_c_while_noise_is_drawn_loses_nothing(monkeypatch):
    """It left the last window of noise in place for the next one."""
    monkeypatch.setattr(host, "AHEAD", 3)
    undisturbed, disturbed, draw = walked(build()), build(), host.Host._draw
    stops = iter([KeyboardInterrupt])

    def refill(self):
        if stop := next(stops, None):
            raise stop
        draw(self)

    monkeypatch.setattr(host.Host, "_draw", refill)
    assert walked(disturbed) == undisturbed
    assert next(stops, None) is None


def test_a_diverged_method_says_so_at_every_call():
    generator = build(method="zo-sph", params={"step": 1e300})
    with pytest.raises(ValueError, match="the method has diverged"):
        generator.ingest([{**point, "f": 1e40 * k} for k, point in enumerate(generator.suggest())])
    for call in (generator.suggest, lambda: generator.ingest([])):
        with pytest.raises(ValueError, match="the method has diverged"):
            call()
    assert generator.recommend() == {"price": 2.0, "size": 0.1}


WRONG = {
    "no value": (lambda point: point, "lacks f"),
    "no decision": (lambda point: {"_id": point["_id"], "f": 1.0}, "lacks price, size"),
    "None": (lambda point: {**point, "f": None}, "_id 1: f must be a number, got None"),
    "complex": (lambda point: {**point, "f": 1j}, "_id 1: f must be a number"),
    "masked": (lambda point: {**point, "f": np.ma.masked}, "_id 1: f must be a number"),
    "a word for a price": (lambda point: {**point, "price": "low", "f": 1.0}, "_id 1: the point must be a"),
    "told twice": (lambda point: {**point, "_id": 0, "f": 1.0}, "_id 0 is none of the points"),
    "no table": (lambda point: 3, "each of results must be a table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_results_are_taken_all_or_none(case):
    wrong, message = WRONG[case]
    generator = build()
    one, two = generator.suggest()
    with pytest.raises(ValueError, match=message):
        generator.ingest([{**one, "f": 1.0}, wrong(two)])
    generator.ingest([{**one, "f": 1.0}, {**two, "f": 2.0}])
    assert len(generator.suggest()) == 2
