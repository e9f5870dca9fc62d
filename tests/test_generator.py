"""driftopt as a generator of the gest-api standard."""

import numpy as np
import pytest

import driftopt

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
        **params,
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


def test_what_it_cannot_use_is_named():
    generator = build()
    with pytest.raises(ValueError, match="99 points were asked for and 2 are open"):
        generator.suggest(99)
    (point,) = generator.suggest(1)
    with pytest.raises(ValueError, match="none of the points that await a value"):
        generator.ingest([{**point, "_id": 1, "f": 0.0}])  # not handed out yet
    with pytest.raises(ValueError, match="none of the points"):
        generator.ingest([{"price": 1.0, "size": 0.0, "f": 0.0}])
    with pytest.raises(ValueError, match="suggested was"):
        generator.ingest([{**point, "price": point["price"] + 0.1, "f": 0.0}])
    generator.ingest([{**point, "f": 0.0}])
    with pytest.raises(ValueError, match="none of the points"):
        generator.ingest([{**point, "f": 0.0}])
    with pytest.raises(ValueError, match="sees ξ"):
        build(method="zo-ogvr")
    with pytest.raises(ValueError, match="another batch in every iteration"):
        build(method="zo-ogvr-v")
    with pytest.raises(ValueError, match="does not"):
        build(start={"colour": 1.0})
    with pytest.raises(ValueError, match="finite domain"):
        Generator(vocs.VOCS(variables={"c": {1, 2}}, objectives={"f": "MINIMIZE"}), budget=60)
    with pytest.raises(ValueError, match="one objective"):
        Generator(vocs.VOCS(variables=SPACE, objectives={"f": "EXPLORE"}), budget=60)
    constrained = vocs.VOCS(
        variables=SPACE, objectives={"f": "MINIMIZE"}, constraints={"c": ["LESS_THAN", 0.0]}
    )
    with pytest.raises(ValueError, match="no constraints"):
        Generator(constrained, budget=60)
