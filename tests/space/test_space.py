"""`Space`: built once from what the user gives, and again from what a study stored."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from driftopt.space import Space, space
from driftopt.space.step import Step


def test_without_steps_the_method_and_the_world_see_the_same():
    plain = Space.build([1.0, 2.0])
    points = np.array([[1.5, 2.5], [1e300, -1e300]])
    assert plain.deploy(points) is points
    assert plain.names == ("x0", "x1")
    assert plain.report(points[0]).tolist() == [1.5, 2.5]


def test_a_report_is_the_callers_own():
    point = np.zeros(2)
    point.flags.writeable = False
    Space.build([1.0, 2.0]).report(point)[0] = 1.0


def test_it_is_built_again_from_what_it_says_of_itself():
    space = Space.build([1.0, 2.0], names=["tea", "oil"], bounds=[(0, 3), (None, 2.5)])
    again = Space.build(space.start, names=space.names, **json.loads(json.dumps(space.given)))
    points = np.random.default_rng(0).normal(size=(50, 2)) * 10
    assert again.deploy(points).tobytes() == space.deploy(points).tobytes()
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
    assert Space.build([1.0] * 4, bounds=[(0, 2)] * 3 + [(0, 5)]).radius == pytest.approx(0.4)
    assert Space.build([1.0], bounds=[(0, None)]).radius is None
    assert Space.build([1.0]).radius is None


class Doubled(Step):
    """A step that nobody has heard of."""

    name = "doubled"

    @classmethod
    def parse(cls, given, start, before: Sequence[Step] = ()):
        return cls() if given else None

    @property
    def given(self):
        return True

    def deploy(self, points, draw):
        return 2 * points + sum(draw)


def test_a_new_step_needs_its_file_and_a_line(monkeypatch):
    monkeypatch.setattr(space, "STEPS", (*space.STEPS, Doubled))
    doubling = Space.build([1.0], bounds=[(0, 3)], doubled=True)
    assert doubling.deploy(np.array([[4.0]]), (7, 1)).tolist() == [[12.0]]
    assert doubling.given == {"bounds": [[0, 3]], "doubled": True}
