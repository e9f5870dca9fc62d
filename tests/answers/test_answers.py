"""`Answers`: what counts, and what a method is told of it."""

import math

import numpy as np
import pytest

from driftopt.answers import Answer, Answers, Told
from driftopt.answers.step import Step
from driftopt.space import Space

SAMPLES = np.array([[1.0, 5.0], [3.0, 6.0], [2.0, 1.0]])


def take(answers, *iterations):
    memory = answers.begin()
    values = None
    for told in iterations:
        memory, values = answers.take(memory, told)
    return values


def test_a_method_is_told_the_mean_of_the_samples():
    assert take(Answers.build(), SAMPLES).tolist() == [2.0, 4.0]
    assert take(Answers.build(), SAMPLES[:1]).tobytes() == SAMPLES[0].tobytes()


def test_where_large_values_are_wanted_it_is_told_the_negatives():
    rng = np.random.default_rng(0).standard_normal((7, 3))
    up, down = take(Answers.build(direction="maximize"), -rng), take(Answers.build(), rng)
    assert up.tobytes() == down.tobytes()
    with pytest.raises(ValueError, match="direction"):
        Answers.build(direction="up")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_finite_number_is_a_failure(value):
    verdict = Answers.build().judge(Answer(value))
    assert verdict == ("failed", f"the value is {value}")
    assert Answers.build().judge(Answer(1e308)) is None


def test_a_value_from_elsewhere_is_a_failure_and_one_from_nearby_is_not():
    asked = np.array([1.0, 2.0])
    answers = Answers.build(tolerance=0.1, distance=Space.build(asked).distance)
    assert answers.judge(Answer(1.0, None, asked, np.array([1.1, 2.0]))) is None
    assert answers.judge(Answer(1.0, None, asked, None)) is None
    verdict = answers.judge(Answer(1.0, None, asked, np.array([1.11, 2.0])))
    assert verdict.state == "failed"
    assert "0.11 away from the asked point (tolerance 0.1)" in verdict.reason


class SinceTheFirst(Step):
    """Values less the first iteration's: a step with a memory."""

    def begin(self):
        return None

    def take(self, memory, told):
        memory = told.values if memory is None else memory
        return memory, Told(told.values - memory, told.beside)


def test_a_step_keeps_its_memory_beside_the_methods_state():
    answers = Answers((SinceTheFirst(),))
    assert take(answers, SAMPLES, SAMPLES + 2.0).tolist() == [2.0, 2.0]
