"""Grids of configurations: their order, their names, and which of them run as one program."""

import functools
import pickle

import numpy as np
import pytest

from driftopt import methods


def build(step):
    return methods.get("zo-sph", radius=0.5, step=step)


def test_the_label_is_the_given_one_or_the_methods_name():
    assert methods.grid("zo-sph", label="mine", radius=1.0, step=0.1).label == "mine"
    assert methods.grid("zo-sph", radius=1.0, step=0.1).label == "zo-sph"
    assert methods.grid(build, step=0.1).label == "build"
    assert methods.grid(functools.partial(build, 0.1)).label == "partial"
    assert methods.grid(build(0.1)).label == "SGD"


def test_the_last_parameter_varies_fastest():
    grid = methods.grid("zo-sph", radius=[1.0, 2.0], step=np.array([0.1, 0.2, 0.3]))
    assert len(grid) == 6
    assert [(c["radius"], c["step"]) for c in grid.configurations] == [
        (radius, step) for radius in (1.0, 2.0) for step in (0.1, 0.2, 0.3)
    ]
    assert all(type(c["step"]) is float for c in grid.configurations)
    together = grid.stacked([0, 4])
    np.testing.assert_array_equal(together.radius, [1.0, 2.0])
    np.testing.assert_array_equal(together.step, [0.1, 0.2])


def test_a_method_is_built_once_and_does_not_travel_with_its_grid():
    counted = []

    def counting(step):
        counted.append(step)
        return build(step)

    grid = methods.grid(counting, step=[0.1, 0.2])
    assert grid.candidate(1) is grid.candidate(1)
    assert grid.method(0).step == 0.1
    assert counted == [0.1, 0.2]
    there = pickle.loads(pickle.dumps(methods.grid(build, step=[0.1, 0.2])))
    assert vars(there).keys() == {"label", "build", "configurations"}
    assert there.method(1).step == 0.2


def test_numbers_share_a_program_and_shapes_do_not():
    grid = methods.grid("zo-sph", radius=[1.0, 2.0], step=0.1, directions=[1, 3])
    assert grid.groups() == [[0, 2], [1, 3]]


def test_a_methods_own_numbers_stand_where_no_others_are_given():
    grid = methods.grid(build(0.1), step=[0.1, 0.2])
    assert [float(grid.method(i).step) for i in range(2)] == [0.1, 0.2]
    assert [float(grid.method(i).radius) for i in range(2)] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: methods.grid("zo-sph", radius=1.0, step=[]), "values for step is empty"),
        (lambda: methods.grid(3, step=0.1), "method"),
        (lambda: methods.grid(build, pace=0.1), "build cannot be built with {'pace': 0.1}"),
        (lambda: methods.grid(build(0.1), pace=0.1), "SGD has no parameter pace; it takes .*step"),
        (lambda: methods.grid(build, step=[[0.1, 0.2]]), "one value for each number"),
    ],
)
def test_mistakes_show_when_the_grid_is_made(wrong, words):
    with pytest.raises(ValueError, match=words):
        wrong()
