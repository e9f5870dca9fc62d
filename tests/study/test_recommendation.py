"""What is known of the recommendation, from trials alone: means, their errors, and which values count."""

from types import SimpleNamespace

import numpy as np
import pytest

from driftopt.study.asking import direction as direction_of
from driftopt.study.asking import evaluated
from driftopt.study.recommendation import mean_of, recommend, stationarity
from driftopt.study.trial import Trial


def told(value, kind="control", point=0, sample=0, sem=None, x=(0.0, 0.0), state="complete"):
    place = (kind, 0, point, sample, "me", 0.0, None)
    return Trial(1, np.array(x), ("p", "q"), *place, state=state, value=value, sem=sem)


def pair(start, found, point=0, **more):
    return [told(start, "confirm", point, 0, **more), told(found, "confirm", point, 1, **more)]


def found(trials, direction="minimize", results=3, left=9, settle=1, x=(0.0, 0.0)):
    sign = 1.0 if direction == "minimize" else -1.0
    spec = SimpleNamespace(direction=direction, sign=sign, names=("p", "q"), settle=settle, limits={})
    return recommend(spec, np.array(x), results, 9, left, trials)


def improvement(trials, direction="minimize", **how):
    return found(trials, direction, **how).improvement


def test_a_mean_is_that_of_the_values_that_came():
    assert mean_of([]) is None
    assert mean_of([told(5.0, state="failed"), told(None, state="pending")]) is None
    one = mean_of([told(1.0, sem=0.25), told(100.0, state="failed"), told(None, state="expired")])
    assert (one.mean, one.sem, one.n) == (1.0, 0.25, 1)
    two = mean_of([told(1.0, sem=9.0), told(4.0)])
    assert (two.mean, two.n) == (2.5, 2)
    assert two.sem == pytest.approx(1.5)  # 3/√2 over √2: the spread of both, not the error of one


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1), ("maximize", -1)])
def test_pairs_are_compared_by_their_differences(direction, sign):
    gain = improvement(
        [*pair(40.0, 38.0), *pair(-40.0, -41.0, 1), *pair(3.0, None, 2, state="failed")], direction
    )
    assert gain.mean == sign * 1.5
    assert gain.sem == pytest.approx(0.5)
    assert (gain.start.mean, gain.recommended.mean, gain.start.n) == (0.0, -1.5, 2)
    assert gain.basis == "confirming pairs"


def test_one_pair_needs_errors_of_its_own():
    assert improvement(pair(5.0, 3.0)) is None
    assert improvement([told(5.0, "confirm", 0, 0), told(3.0, "confirm", 0, 1, sem=4.0)]) is None
    assert improvement([told(5.0, "confirm", 0, 0, sem=3.0), told(3.0, "confirm", 0, 1)]) is None
    gain = improvement([told(5.0, "confirm", 0, 0, sem=3.0), told(3.0, "confirm", 0, 1, sem=4.0)])
    assert (gain.mean, gain.sem, gain.basis) == (2.0, 5.0, "confirming pairs")


def test_controls_stand_in_where_there_is_no_pair():
    controls = [told(10.0), told(14.0)]
    gain = improvement([*controls, told(5.0, "confirm", 0, 1), told(5.0, "confirm", 1, 1)])
    assert (gain.mean, gain.sem) == (7.0, pytest.approx(2.0))
    assert gain.basis == "confirming and control deployments"
    assert improvement(controls) is None


def test_what_confirmed_another_recommendation_does_not_count():
    pairs = [*pair(5.0, 3.0), *pair(5.0, 4.0, 1)]
    assert improvement(pairs) is not None
    assert improvement(pairs, x=(0.0, 1.0)) is None


def test_a_recommendation_that_was_measured_to_be_worse_says_so():
    worse = found([*pair(10.0, 5.0), *pair(10.1, 5.1, 1)], "maximize")
    assert worse.warning.startswith("the recommendation was measured to be worse than the start, by 5 ± ")
    assert "the start is better kept; two pairs say little of their error" in worse.warning
    assert "better kept" in repr(worse)
    third = [*pair(10.0, 5.0), *pair(10.1, 5.1, 1), *pair(10.2, 5.0, 2)]
    assert found(third, "maximize").warning.endswith("the start is better kept")
    assert found(third, "minimize").warning is None
    noise = [*pair(10.0, 5.0), *pair(10.0, 11.0, 1)]  # −2 ± 3
    assert found(noise, "maximize").warning is None
    start = [*pair(10.0, 5.0), *pair(10.1, 5.1, 1)]
    assert found(start, "maximize", results=0).warning is None  # the start itself


SPACE = SimpleNamespace(
    start=np.array([9.0, 9.0]), deploy=lambda x, draw: np.minimum(x, 1.2), lift=lambda x: x, steps=()
)
SPEC = SimpleNamespace(seed=7, dim=2, units=[0.5, 0.5], space=SPACE)


def test_only_whole_pairs_certify():
    """A side that was told alone waits for the other; another recommendation's pairs are not this one's."""
    x = np.zeros(2)

    def side(value, point, side, around=x, **more):
        return told(
            value, "stationarity", point, side, x=evaluated(SPEC, "stationarity", point, side, around), **more
        )

    sides = [side(float(point + k), point, k) for point in range(10) for k in (0, 1)]
    whole = stationarity(SPEC, x, sides, 0.95, None)
    assert (whole.pairs, whole.queries) == (10, 20)
    lone = [side(9.0, 10, 0), side(9.0, 11, 1)]
    other = [side(9.0, 12, k, around=np.ones(2)) for k in (0, 1)]
    failed = [side(9.0, 13, 0), side(9.0, 13, 1, state="failed")]
    assert stationarity(SPEC, x, [*lone, *other, *failed, *sides], 0.95, None) == whole
    with pytest.raises(ValueError, match="9 pairs are told at the present recommendation and 10 are needed"):
        stationarity(SPEC, x, sides[1:], 0.95, None)


def test_both_kinds_of_pairs_deploy_what_their_sides_say():
    """(start, recommendation) to confirm; (x + δu, x − δu), brought into the space, to certify."""
    x = np.array([1.0, 1.0])
    move = 0.5 * direction_of(SPEC, 4)
    np.testing.assert_array_equal(evaluated(SPEC, "confirm", 4, 0, x), SPACE.start)
    np.testing.assert_array_equal(evaluated(SPEC, "confirm", 4, 1, x), x)
    np.testing.assert_array_equal(evaluated(SPEC, "stationarity", 4, 0, x), np.minimum(x + move, 1.2))
    np.testing.assert_array_equal(evaluated(SPEC, "stationarity", 4, 1, x), np.minimum(x - move, 1.2))
    assert np.abs(move).max() > 0.2  # so that one side is cut
