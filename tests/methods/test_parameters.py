"""Every method says what each of its numbers means."""

import numpy as np
import pytest

from driftopt import methods
from driftopt.methods import registry
from driftopt.pytree import plain_fields


def meanings(name):
    return {one.name: one.meaning for one in methods.entry(name).described()}


@pytest.mark.parametrize("name", methods.names())
def test_every_parameter_has_a_meaning(name):
    found = meanings(name)
    assert tuple(found) == methods.entry(name).parameters
    assert all(meaning.endswith(".") for meaning in found.values())


@pytest.mark.parametrize("name", methods.names())
def test_every_number_is_checked_under_its_own_name(name):
    line = methods.entry(name)
    for parameter in line.parameters:
        with pytest.raises(ValueError, match=rf"\b{parameter}\b"):
            methods.get(name, **{**line.example, parameter: float("nan")})


@pytest.mark.parametrize("name", methods.names())
def test_a_number_or_word_has_one_name_as_argument_and_as_field(name):
    """A table of instances and grids has one column for it; switches that no argument sets are bools."""
    line = methods.entry(name)
    held = plain_fields(registry.tried(name, {}))
    assert {field for field, value in held.items() if not isinstance(value, bool)} <= set(line.parameters)


# Those whose sides are open unless given.
SIDED = [name for name in methods.names() if methods.entry(name).defaults.get("low", 0) is None]


@pytest.mark.parametrize("name", SIDED)
def test_sides_are_finite_or_open_and_in_order(name):
    example = methods.entry(name).example
    for sides in ({"low": -1.0}, {"high": 1.0}, {"low": -1.0, "high": 1.0}, {"low": None, "high": None}):
        method = methods.get(name, **{**example, **sides})
        assert (method.low, method.high) == (sides.get("low"), sides.get("high"))
    for sides in ({"low": 1.0, "high": -1.0}, {"low": 1.0, "high": 1.0}):
        with pytest.raises(ValueError, match="low"):
            methods.get(name, **{**example, **sides})
    for side in ("low", "high"):
        with pytest.raises(ValueError, match=f"{side} must be (a )?finite"):
            methods.get(name, **{**example, side: float("inf")})


GUIDED = [name for name in methods.names() if "free" in methods.entry(name).parameters]


@pytest.mark.parametrize("name", GUIDED)
def test_a_share_is_a_number_between_nothing_and_all(name):
    example = methods.entry(name).example
    for share in (0, 1, 0.25, np.float32(0.5)):
        found = np.asarray(methods.get(name, **{**example, "free": share}).free)
        assert found == share
        assert found.dtype == np.float64  # whole numbers too: another type would be another program
    for share in (-0.01, 1.01, float("nan")):
        with pytest.raises(ValueError, match="free"):
            methods.get(name, **{**example, "free": share})


SMALL = {"radius": 0.5, "step": 0.1}


def test_numbers_left_out_are_the_papers():
    dfo = methods.get("dfo", **SMALL, forget=0.25, mixing=0.5)
    assert dfo.hold == pytest.approx(2 / np.log(2))  # 2/log(1/max(ρ, λ))
    assert methods.get("dfo", **SMALL, forget=0.5, mixing=0.25).hold == pytest.approx(2 / np.log(2))
    assert methods.get("dfo", **SMALL, mixing=1.5, hold=3.0).hold == 3.0
    plus = methods.get("gfm+", **SMALL, period=3, pairs=2)
    assert (plus.pairs, plus.fresh_pairs) == (2, 6)  # b′ = m b
    assert float(methods.get("zo-o2nc-same", **SMALL, block=4).reach) == 0.125  # D = ρ/M
    assert float(methods.get("zo-o2nc-same", **SMALL, block=4, reach=0.3).reach) == 0.3


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("dfo", {"forget": 0.0, "mixing": 0.0}, "forget must be finite and > 0"),
        ("dfo", {"forget": 1.0}, "forget and mixing must be above 0 and below 1"),
        ("dfo", {"mixing": 1.0}, "forget and mixing must be above 0 and below 1"),
        ("hlf-szo", {"momentum": 1.0}, "momentum must be at least 0 and below 1"),
        ("hlf-szo", {"momentum": -0.1}, "momentum must be at least 0 and below 1"),
    ],
)
def test_numbers_outside_their_range_are_refused(name, wrong, words):
    with pytest.raises(ValueError, match=words):
        methods.get(name, **SMALL, **wrong)
