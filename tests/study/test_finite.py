"""Whatever is told, and whatever an old log holds, no mean, slope or error that comes out is infinite."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.study import Study
from driftopt.study.drift import drift
from driftopt.study.recommendation import mean_of, recommend
from driftopt.study.trial import Trial
from support.study_worlds import PLAIN

LARGEST = np.finfo(float).max
values = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([LARGEST, -LARGEST, 0.0])


@cache
def spec(direction):
    return Study.create("sqlite://", "a", budget=12, direction=direction, **PLAIN).spec


def told(kind, value, point=0, sample=0, at=0.0, sem=None):
    place = (kind, 1, point, sample, "me", at, None)
    return Trial(1, np.zeros(2), ("p", "q"), *place, state="complete", value=value, sem=sem, answered_at=at)


def finite(numbers):
    return all(number is None or math.isfinite(number) for number in numbers)


@given(st.lists(st.tuples(values, st.floats(0, 1e10)), min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_mean_and_drift_of_any_values_are_finite(answers):
    trials = [told("control", value, at=at) for value, at in answers]
    found = drift(trials)
    assert finite((found.mean, found.slope, found.slope_sem))
    mean = mean_of(trials)
    assert finite((mean.mean, mean.sem))
    sizes = [abs(value) for value, _ in answers]
    assert abs(mean.mean) / (1 + 1e-15) <= max(sizes)  # three equal numbers may have a mean a bit above


@given(st.lists(st.tuples(values, values), min_size=1, max_size=6), st.sampled_from(["minimize", "maximize"]))
@settings(max_examples=300, deadline=None)
def test_the_improvement_over_any_start_is_finite(pairs, direction):
    sides = [
        told("confirm", side, point, sample, sem=LARGEST)
        for point, pair in enumerate(pairs)
        for sample, side in enumerate(pair)
    ]
    gain = recommend(spec(direction), np.zeros(2), 1, 9, 0, sides).improvement
    assert finite((gain.mean, gain.sem, gain.start.mean, gain.start.sem, gain.recommended.mean))


def test_ordinary_values_are_averaged_as_ever():
    ordinary = np.random.default_rng(0).standard_normal(7)
    days = np.arange(7.0)
    trials = [told("control", value, at=86400 * day) for value, day in zip(ordinary, days, strict=True)]
    assert mean_of(trials).mean == ordinary.mean()
    slope, level = np.polyfit(days, ordinary, 1)
    residual = ordinary - level - slope * days
    found = drift(trials)
    assert found.slope == pytest.approx(slope)
    assert found.slope_sem == pytest.approx(np.sqrt(residual @ residual / 5 / np.sum((days - 3) ** 2)))
    huge = drift([told("control", 1e307 * trial.value, at=trial.asked_at) for trial in trials])
    assert huge.slope == pytest.approx(1e307 * slope)
    assert huge.slope_sem == pytest.approx(1e307 * found.slope_sem)
