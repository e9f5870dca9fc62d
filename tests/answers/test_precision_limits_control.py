"""Precision, limits and control: each a step that changes nothing where it has nothing to say."""

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import driftopt
from driftopt import minimize
from driftopt.answers import Answers, Beside, Told
from driftopt.answers.control import RelativeToControl
from driftopt.answers.limits import Limit, Limits, checked
from driftopt.answers.precision import Precision


def walk(step, values, rows):
    """(n, p) values through a step; `rows` are (n, p, numbers)."""
    memory, told = step.begin(), []
    for value, row in zip(values, rows, strict=True):
        memory, after = step.take(memory, Told(value[None], {step.reads: row[None]}))
        told.append(after.values[0])
    return np.array(told), memory


# Precision


@pytest.mark.parametrize("row", [[0.01, np.nan], [np.nan, 1 / 7], [np.nan, np.nan]])
def test_equally_precise_answers_are_left_alone_bit_for_bit(row):
    values = np.random.default_rng(0).normal(size=(50, 2))
    told, _ = walk(Precision(), values, np.broadcast_to(row, (50, 2, 2)))
    np.testing.assert_array_equal(told, values)


def test_a_difference_counts_in_inverse_proportion_to_its_variance():
    """Pairs of variance 1 and 9: differences of the loud ones are told about a fifth as large."""
    rng = np.random.default_rng(1)
    loud = np.tile([[1.0], [3.0]], (150, 1))
    values = loud * rng.normal(size=(300, 2))
    rows = np.stack([np.broadcast_to(loud**2, (300, 2)), np.full((300, 2), np.nan)], axis=-1)
    told, _ = walk(Precision(), values, rows)
    scale = np.diff(told)[100:, 0] / np.diff(values)[100:, 0]
    assert scale[0::2].mean() / scale[1::2].mean() > 3
    assert (scale > 0).all()


def test_a_precision_that_says_nothing_is_soon_not_believed():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(600, 2))
    n = np.broadcast_to(np.tile([[0.5], [2.0]], (300, 1)), (600, 2))
    rows = np.stack([np.full((600, 2), np.nan), n], axis=-1)
    told, _ = walk(Precision(), values, rows)
    scale = np.diff(told)[400:, 0] / np.diff(values)[400:, 0]
    assert scale.std() < 0.15


def test_a_result_of_extreme_precision_counts_three_times_at_most():
    sems = np.ones((21, 2))
    sems[-1] = 1e-3
    values = np.random.default_rng(3).normal(size=(21, 2))
    told, _ = walk(Precision(), values, np.stack([sems**2, np.full((21, 2), np.nan)], axis=-1))
    assert np.diff(told[-1]) / np.diff(values[-1]) == pytest.approx(3.0)


def test_a_first_result_without_control_is_centred_by_the_control_of_the_others():
    told, _ = walk(RelativeToControl(), np.array([[103.0, 105.0]]), np.array([[[100.0], [np.nan]]]))
    np.testing.assert_array_equal(told, [[3.0, 5.0]])


def test_samples_at_a_point_are_averaged_by_their_precision():
    step = Answers.build(precision=True)
    beside = step.beside([Beside(sem=1.0), Beside(sem=1.0), Beside(sem=3.0), Beside(sem=1.0)], (2, 2))
    _, told = step.take(step.begin(), np.array([[0.0, 0.0], [10.0, 0.0]]), beside)
    plain = Answers.build().take((), np.array([[0.0, 0.0], [10.0, 0.0]]))[1]
    assert 0 < told[0] - told[1] < plain[0] - plain[1]


# Limits


def test_limits_are_checked_at_the_door():
    assert checked({"a": {"max": 5}, "b": {"min": 0.1, "hard": True}, "c": {}}) == {
        "a": {"max": 5.0},
        "b": {"min": 0.1, "hard": True},
        "c": {},
    }
    for wrong, said in (
        ({"a": {"most": 5}}, "takes max or min"),
        ({"a": {"max": 5, "min": 1}}, "give one"),
        ({"a": {"max": math.inf}}, "finite"),
        ({"a": {"hard": True}}, "no max or min"),
        ([1], "table"),
    ):
        with pytest.raises(ValueError, match=said):
            checked(wrong)


def test_while_there_is_room_next_to_nothing_is_added():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(100, 2))
    excess = -20 + rng.normal(size=(100, 2, 1))
    told, _ = walk(Limits((Limit("a", max=5.0),)), values, excess)
    assert np.abs(told - values)[10:].max() < 1e-6


def test_a_limit_that_is_broken_outweighs_the_value_after_a_while():
    """The excess of the first point is larger: it must become the worse one, whatever the values' scale."""
    rng = np.random.default_rng(4)
    values = 1e3 * (np.array([-1.0, 1.0]) + rng.normal(size=(200, 2)))
    excess = (np.array([2.0, 1.0]) + 0.3 * rng.normal(size=(200, 2)))[..., None]
    told, _ = walk(Limits((Limit("a", max=5.0),)), values, excess)
    assert np.diff(values).mean() > 0 > np.diff(told)[100:].mean()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_limit_is_a_cost_in_either_direction(sign):
    values, excess = np.zeros((50, 2)), np.ones((50, 2, 1)) * [[2.0], [1.0]]
    values[:, 0] += 0.1
    told, _ = walk(Limits((Limit("a", max=5.0),), sign), values, excess)
    assert sign * (told - values)[-1, 0] > 0


def constrained(x, rng):
    """|x − a|² with a beyond the half space x₀ ≤ 0.5: complaints are 10 + 10 x₀, of which 15 are allowed."""
    value = float(((x - [1.0, 0.5]) ** 2).sum()) + 0.1 * rng.normal()
    return {"value": value, "metrics": {"complaints": 10 + 10 * x[0] + 0.3 * rng.normal()}}


def test_the_walk_ends_at_the_limit():
    rng = np.random.default_rng(5)
    how = {"budget": 600, "radius": 0.3, "rng": 1, "limits": {"complaints": {"max": 15.0}}}
    result = minimize(lambda x: constrained(x, rng), [0.0, 0.0], **how, method="walk")
    assert abs(10 + 10 * result.x[0] - 15) < 0.5
    assert abs(result.x[1] - 0.5) < 0.15
    assert result.history["metrics"].shape == (600, 1)


@drawn(
    st.lists(st.floats(), min_size=12, max_size=12),
    st.lists(st.floats(-1e300, 1e300), min_size=12, max_size=12),
)
def test_whatever_comes_beside_the_method_is_told_finite_values(numbers, values):
    for step, width in ((Limits((Limit("a", max=1.0),)), 1), (Precision(), 2), (RelativeToControl(), 1)):
        rows = np.resize(numbers, (6, 2, width))
        told, memory = walk(step, np.array(values).reshape(6, 2), rows)
        assert np.isfinite(told).all()
        assert all(np.isfinite(leaf).all() for leaf in memory)


# Control


def test_what_control_and_value_share_is_taken_out():
    rng = np.random.default_rng(6)
    common = 3 * rng.normal(size=(100, 2))
    values, control = common + 0.3 * rng.normal(size=(100, 2)), common + 0.3 * rng.normal(size=(100, 2))
    told, _ = walk(RelativeToControl(), values, control[..., None])
    np.testing.assert_allclose(told, values - control)


def test_where_control_is_missing_its_mean_stands_in():
    values, control = np.ones((3, 2)), np.array([[5.0, 7.0], [np.nan, 6.0], [np.nan, np.nan]])
    told, _ = walk(RelativeToControl(), values, control[..., None])
    np.testing.assert_allclose(told, [[-4, -6], [-5, -5], [-5, -5]])


@pytest.mark.parametrize(
    "answer", [{"value": 1.0}, {"value": 1.0, "covariates": {"rain": 1.0}}, (1.0, {"rain": 1.0})]
)
def test_minimize_relative_to_control_wants_one_beside_each_value(answer):
    how = {"budget": 20, "radius": 0.3, "relative_to_control": True, "covariates": ["rain"]}
    with pytest.raises(driftopt.MinimizeError, match="returns the control with each value"):
        minimize(lambda x: answer, [0.0], **how, method="walk")
    minimize(lambda x: {"value": 1.0, "control": np.nan}, [0.0], **how, method="walk")


def test_minimize_says_what_metrics_and_control_were():
    """At the reported decision where there are final queries; as a study says it of its answers."""

    def fun(x):
        turn = len(calls)
        calls.append(turn)
        return {"value": float(x @ x), "metrics": {"a": float(turn % 2)}, "control": float(turn % 3)}

    calls = []
    how = {"budget": 40, "radius": 0.3, "rng": 0, "limits": {"a": {}, "b": {}}, "relative_to_control": True}
    result = minimize(fun, [1.0], final_queries=8, **how, method="walk")
    a, b = result.metrics["a"], result.metrics["b"]
    assert (a.estimate, a.count, b.estimate, b.sem, b.count) == (0.5, 8, None, None, 0)
    assert a.sem == pytest.approx(np.std([0.0, 1.0] * 4, ddof=1) / 8**0.5)
    calls = []
    assert minimize(fun, [1.0], **how, method="walk").metrics["a"].count >= 4
    assert "metrics" not in minimize(lambda x: float(x @ x), [1.0], budget=40, radius=0.3, method="walk")
