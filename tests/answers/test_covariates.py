"""Covariates: what they explain is taken out, what they do not explain is left alone."""

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import driftopt
from driftopt import methods, minimize, season, simulate
from driftopt.answers import Answers
from driftopt.answers.covariates import Covariates, adjust
from driftopt.answers.effects import p_value


def walk(values, given, k):
    """All of a run's (n, p) values as a method would be told them, and what was learnt."""
    learnt, told = Covariates(("",) * k).begin(), []
    for value, row in zip(values, given, strict=True):
        learnt, adjusted = adjust(learnt, value, row)
        told.append(adjusted)
    return np.array(told), learnt


def world(seed=0, n=200, k=2, effects=(1.0, 0.0), noise=0.3):
    rng = np.random.default_rng(seed)
    given = rng.normal(size=(n, 2, k))
    return (
        rng,
        given,
        given @ np.array(effects) + noise * rng.normal(size=(n, 2)) + np.linspace(3, 0, n)[:, None],
    )


def test_what_a_covariate_explains_is_taken_out():
    _, given, values = world()
    told, learnt = walk(values, given, 2)
    plain, adjusted = np.diff(values[50:]).std(), np.diff(told[50:]).std()
    assert adjusted < 1.05 * 0.3 * math.sqrt(2) < plain / 3
    assert abs(learnt.effects[0] - 1) < 0.05
    assert abs(learnt.effects[1]) < 0.02


def test_the_answer_that_is_adjusted_has_no_part_in_its_adjustment():
    """Another value for the last answer changes that value alone, by the same amount."""
    _, given, values = world(n=60)
    other = values.copy()
    other[-1] += [5.0, -7.0]
    told, changed = walk(values, given, 2)[0], walk(other, given, 2)[0]
    np.testing.assert_array_equal(told[:-1], changed[:-1])
    np.testing.assert_allclose(changed[-1] - told[-1], [5.0, -7.0], rtol=1e-12)


def test_without_effects_nothing_is_changed_bit_for_bit():
    """Constant and unknown covariates, and none told at all."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(80, 2))
    for number in (7.5, np.nan, 1e300):
        told, learnt = walk(values, np.full((80, 2, 3), number), 3)
        np.testing.assert_array_equal(told, values)
        assert all(np.isfinite(leaf).all() for leaf in learnt)
    step = Answers.build(covariates=["a"])
    _memory, told = step.take(step.begin(), values[:1])
    np.testing.assert_array_equal(told, values[0])


def test_useless_covariates_add_next_to_no_noise():
    """Six of them: the variance of differences grows by less than half a per cent over 20 runs."""
    rng = np.random.default_rng(2)
    plain, adjusted = [], []
    for _ in range(20):
        values, given = rng.normal(size=(60, 2)), rng.normal(size=(60, 2, 6))
        told, _ = walk(values, given, 6)
        plain.append(np.diff(values))
        adjusted.append(np.diff(told))
    assert np.var(adjusted) < 1.02 * np.var(plain)


def test_collinear_covariates_share_one_effect():
    _, given, values = world()
    given[:, :, 1] = 2 * given[:, :, 0] + 3
    told, learnt = walk(values, given, 2)
    assert abs(learnt.effects @ [1, 2] - 1) < 0.05
    assert np.diff(told[50:]).std() < 0.5


def test_one_wild_number_does_not_unlearn():
    for where, when in (("value", 60), ("covariate", 60), ("value", 0)):
        _, given, values = world(n=120)
        (values if where == "value" else given)[when, 0] = 1e6
        told, learnt = walk(values, given, 2)
        assert abs(learnt.effects[0] - 1) < 0.1, where
        assert np.diff(told[70:]).std() < 0.6, where


def test_a_covariate_that_is_sometimes_missing_still_helps():
    rng, given, values = world(n=300)
    given[rng.random(given.shape) < 0.2] = np.nan
    told, learnt = walk(values, given, 2)
    assert abs(learnt.effects[0] - 1) < 0.25
    assert np.diff(told[100:]).std() < 0.8 * np.diff(values[100:]).std()


def test_units_do_not_matter():
    """Values and covariates in units of powers of two: the same run, bit for bit."""
    _, given, values = world(n=80)
    told, _ = walk(values, given, 2)
    scaled, _ = walk(values * 2.0**20, given * [2.0**-30, 2.0**12], 2)
    np.testing.assert_array_equal(scaled, told * 2.0**20)


@drawn(
    st.integers(1, 4),
    st.integers(1, 3),
    st.lists(st.floats(), min_size=24, max_size=24),
    st.lists(st.floats(-1e300, 1e300), min_size=12, max_size=12),
)
def test_whatever_comes_the_method_is_told_finite_values(p, k, numbers, values):
    step = Covariates(tuple("abc"[:k]))
    memory = step.begin()
    for turn in range(12 // p):
        told = np.array(values[turn * p : (turn + 1) * p])[None]
        rows = np.resize(numbers, (12, k))[turn * p : (turn + 1) * p][None]
        memory, after = step.take(memory, driftopt.answers.Told(told, {"covariates": rows}))
        assert np.isfinite(after.values).all()
        assert all(np.isfinite(leaf).all() for leaf in memory)


def shop(seed=0, moved=0.0):
    """Values with a loud covariate; `moved` is how much of the decision is in it."""
    rng = np.random.default_rng(seed)

    def fun(x):
        crowd = rng.normal() + moved * float(x.sum())
        return float(((x - 1) ** 2).sum() + 2 * crowd + 0.2 * rng.normal()), {"crowd": crowd}

    return fun


def test_minimize_takes_covariates_and_says_what_they_explain():
    result = minimize(
        shop(), [0.0, 0.0], budget=300, radius=0.3, rng=0, covariates=["crowd", "moon"], method="walk"
    )
    assert abs(result.covariates["crowd"].effect - 2) < 0.1
    assert result.covariates["moon"].effect == 0
    assert result.covariates["moon"].known == 0
    assert result.history["covariates"].shape == (300, 2)
    plain = minimize(lambda x: shop(1)(x)[0], [0.0, 0.0], budget=300, radius=0.3, rng=0, method="walk")
    assert "covariates" not in plain


def test_a_covariate_that_the_decision_moves_is_warned_of():
    with pytest.warns(driftopt.CovariateWarning, match="'crowd' moves with the decision"):
        minimize(
            shop(moved=1.0), [0.0, 0.0], budget=300, radius=0.3, rng=0, covariates=["crowd"], method="walk"
        )


def test_the_p_value_is_right_under_the_null_and_small_otherwise():
    """4,000 runs: P(p < 0.05) is at most 0.05, by z; the twin with a small effect is far beyond."""
    rng = np.random.default_rng(3)
    turns = np.arange(40) // 2

    def share(effect):
        found = []
        for _ in range(2000):
            x = rng.normal(size=(40, 2))
            found.append(p_value(x, rng.normal(size=40) + effect * x[:, 0], turns) < 0.05)
        return (np.mean(found) - 0.05) / math.sqrt(0.05 * 0.95 / 2000)

    assert share(0.0) < 5
    assert share(0.5) > 5


def test_vectorized_functions_give_a_table_of_covariates():
    rng = np.random.default_rng(0)

    def fun(points):
        crowd = rng.normal(size=len(points))
        return (points**2).sum(axis=1) + 3 * crowd, crowd[:, None]

    result = minimize(
        fun, [1.0], budget=200, radius=0.3, rng=0, covariates=["crowd"], vectorized=True, method="walk"
    )
    assert abs(result.covariates["crowd"].effect - 3) < 0.1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (1.0, "returns \\(value, covariates\\)"),
        ((1.0, {"wind": 1.0}), "has wind; they are crowd"),
        ((1.0, [1.0, 2.0]), "must have the shape"),
    ],
)
def test_what_is_no_covariate_is_refused(answer, said):
    with pytest.raises(driftopt.MinimizeError, match=said):
        minimize(lambda x: answer, [0.0], budget=20, radius=0.3, covariates=["crowd"], method="walk")


def test_covariates_need_values():
    with pytest.raises(ValueError, match="different names"):
        minimize(lambda x: 0.0, [0.0], budget=20, covariates=["a", "a"], method="walk")
    method = methods.informed(methods.get("walk", radius=1.0), covariates=True)
    with pytest.raises(ValueError, match="give the method itself"):
        minimize(lambda x: 0.0, [0.0], budget=20, method=method)


def test_a_season_is_two_covariates():
    assert season(7, 0, "day") == {"day cos": 1.0, "day sin": 0.0}
    for at in range(52):
        one, other = season(52, at), season(52, at + 52)
        assert sum(v * v for v in one.values()) == pytest.approx(1)
        assert list(one.values()) == pytest.approx(list(other.values()), abs=1e-12)
    with pytest.raises(ValueError, match="period"):
        season(0, 1)


def test_a_problem_without_covariates_is_refused():
    from driftopt.problems import kink

    with pytest.raises(ValueError, match="no covariates: define covariates"):
        simulate(methods.informed(methods.get("walk", radius=1.0), covariates=True), kink(2), budget=20)
