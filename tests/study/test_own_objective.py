"""An objective of your own: a function of (x, outputs, context) that no log can keep."""

import pytest

from driftopt.study import Study

SHOP = {"x0": [3.0, 4.0], "budget": 30, "radius": 0.3, "rng": 0, "outputs": ["tea", "mug"]}


def profit(x, outputs, context):
    assert context == {}
    return float(outputs @ [1.0, 2.0])


def another(x, outputs, context):
    return 0.0


def sold(x):
    return {"tea": 20.0 - 3 * x[0], "mug": 15.0 - 2 * x[1]}


def test_it_decides_as_the_named_one_and_is_needed_again(tmp_path):
    """Weights in one's own words, to the rounding; opened without it, or with another, it says what to do."""
    named = Study.create(tmp_path / "a.db", "named", objective={"weighted": [1, 2]}, **SHOP)
    own = Study.create(tmp_path / "a.db", "own", objective=profit, **SHOP)
    for turn in range(6):
        for study in (named, own):
            trial = study.ask()
            study.tell(trial.id, outputs=sold(trial.x))
        assert own.trials()[-1].value == pytest.approx(named.trials()[-1].value), turn
    for given, said in ((None, "none was given"), (another, "another was given")):
        with pytest.raises(
            ValueError, match=rf"your function profit, and {said}; open\(…, objective=profit\)"
        ):
            Study.open(tmp_path / "a.db", "own", objective=given)
    again = Study.open(tmp_path / "a.db", "own", objective=profit)
    assert again.recommend().x.tobytes() == own.recommend().x.tobytes()
    assert again.verify() == own.status().rows
    with pytest.raises(ValueError, match="this study keeps its own"):
        Study.open(tmp_path / "a.db", "named", objective=profit)
    with pytest.raises(ValueError, match="contexts"):
        Study.create(tmp_path / "a.db", "c", objective=profit, contexts={"day": ["week", "sat"]}, **SHOP)
