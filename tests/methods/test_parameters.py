"""Every method says what each of its numbers means."""

import pytest

from driftopt import methods
from driftopt.methods.parameters import MEANINGS, meaning


def test_every_parameter_has_a_meaning(name):
    for parameter in methods.entry(name).parameters:
        assert meaning(name, parameter).endswith(".")


def test_a_methods_own_words_come_first():
    assert "AdaGrad" in meaning("zo-o2nc-2pt", "step")
    assert meaning("zo-sph", "step") == MEANINGS["step"]


def test_an_unknown_parameter_is_an_error():
    with pytest.raises(ValueError, match="auto says nothing about step"):
        meaning("auto", "step")
