"""Sizes that no machine holds are refused in a sentence that names the argument, before anything is made."""

import pytest

import driftopt
from driftopt import problems
from driftopt.methods import get, grid


def spsa():
    return get("zo-sph", radius=0.1, step=0.01)


@pytest.mark.parametrize(
    ("named", "call"),
    [
        (
            "evaluate_every",
            lambda: driftopt.simulate(spsa(), problems.kink(2), budget=2_000_000_000, evaluate_every=1),
        ),
        ("dim", lambda: problems.kink(1_000_000_000)),
        ("dim", lambda: problems.location_shift(100_000)),
        ("products", lambda: problems.Pricing.synthetic(products=1_000_000_000)),
        ("step", lambda: grid("zo-sph", radius=[0.1] * 10_000, step=[0.01] * 1_000)),
        (
            "runs",
            lambda: driftopt.simulate_many(
                spsa(), driftopt.stack([problems.kink(1_000_000)]), budget=100, seeds=range(2_000)
            ),
        ),
    ],
)
def test_absurd_sizes_are_refused(named, call):
    with pytest.raises(ValueError, match=rf"{named}.* numbers, and at most .* held; "):
        call()
