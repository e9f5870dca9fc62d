"""`Space`: built once from what the user gives, and again from what a study stored."""

import json

import numpy as np
import pytest

from driftopt.space import Space


def test_without_steps_the_method_and_the_world_see_the_same():
    plain = Space.build([1.0, 2.0])
    points = np.array([[1.5, 2.5], [1e300, -1e300]])
    assert plain.deploy(points) is points
    assert plain.names == ("x0", "x1")
    assert plain.report(points[0]).tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    "everything",
    [
        {"bounds": [(0, 3), (None, 2.5)]},
        {"units": [0.1, 2.0], "grid": [0.25, (0.5, 2.0)]},
        {"bounds": [(0, 3), (None, 2.5)], "constraints": {"A": [[1, -1], [1, 1]], "lb": -1, "ub": [None, 4]}},
        {
            "bounds": [(0, 9)] * 2,
            "units": [3, 0.5],
            "constraints": {"A": [[1, 1]], "ub": [4]},
            "grid": [0.5, None],
        },
    ],
)
def test_it_is_built_again_from_what_it_says_of_itself(everything):
    space = Space.build([1.0, 2.0], names=["tea", "oil"], **everything)
    again = Space.build(space.start, names=space.names, **json.loads(json.dumps(space.given)))
    points = np.random.default_rng(0).normal(size=(50, 2)) * 10
    assert again.deploy(points, (3, 1)).tobytes() == space.deploy(points, (3, 1)).tobytes()
    assert repr(again) == repr(space)
    assert Space.build(space) is space


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"names": ["a"]}, "2 different names"),
        ({"names": ["a", "a"]}, "2 different names"),
        ({"bounds": [(2, 3), (0, 3)]}, "x0 is outside the bounds in coordinate 0"),
    ],
)
def test_mistakes_are_said_at_the_door(given, words):
    with pytest.raises(ValueError, match=words):
        Space.build([1.0, 2.0], **given)


def test_the_radius_for_those_who_give_none():
    wide = Space.build([1.0] * 4, bounds=[(0, 2)] * 3 + [(0, 5)])
    assert wide.radius == pytest.approx(0.4)
    apart, radius = wide.sized(None)
    assert (radius, apart.given["units"]) == (1.0, pytest.approx([0.4, 0.4, 0.4, 1.0]))
    for equal in (Space.build([1.0] * 4, bounds=[(0, 2)] * 4), Space.build([1.0], bounds=[(0, None)])):
        assert equal.sized(None) == (equal, equal.radius)
    assert Space.build([1.0]).sized(None)[1] is None
    assert Space.build([1.0], units=[3.0]).sized(None)[1] == 1.0
    assert wide.sized(0.5) == (wide, 0.5)


@pytest.mark.parametrize("wrong", [[0.1], [0.1, 0.0], [0.1, np.nan], ["a", 1], [[1, 2]], [], [[1], 2]])
def test_a_radius_for_each_coordinate_is_checked(wrong):
    with pytest.raises(ValueError, match="radius"):
        Space.build([1.0, 2.0]).sized(wrong)
