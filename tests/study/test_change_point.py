"""The alarm on control: how often it is false, and how soon it comes."""

import math

import numpy as np

from driftopt.study.drift import change


def alarms(shift, runs=400, length=100, seed=0, heavy=False):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        values = rng.standard_t(4, size=length) if heavy else rng.normal(size=length)
        values[40:] += shift
        found.append(change((5 + 2 * values).tolist()))
    return found


def test_false_alarms_are_rare():
    """One in a hundred series of 100 is promised: more than 14 of 400 are five standard errors away."""
    for heavy in (False, True):
        assert sum(one is not None for one in alarms(0.0, heavy=heavy)) <= 4 + 5 * math.sqrt(4), heavy


def test_a_real_change_is_noticed_and_dated():
    found = alarms(1.5, runs=60)
    assert sum(one is not None for one in found) >= 57
    began = np.array([one.began for one in found if one is not None])
    assert abs(np.median(began) - 40) <= 5
    assert all(one.higher for one in found if one is not None and one.noticed > 40)


def test_units_and_constants_do_not_matter():
    values = np.random.default_rng(1).normal(size=80)
    values[40:] += 3
    one, other = change(values.tolist()), change((1e300 * values / 10).tolist())
    assert (one.began, one.noticed, one.higher) == (other.began, other.noticed, other.higher)
    assert change([2.0] * 50) is None
    assert change([]) is None


def test_neighbours_that_go_together_raise_false_alarms():
    """What the documentation says of it: about 13 % of series at a correlation of 0.3, 85 % at 0.7."""
    for together, share in ((0.3, 0.13), (0.7, 0.85)):
        rng, runs, found = np.random.default_rng(3), 200, 0
        for _ in range(runs):
            values = rng.normal(size=100)
            for n in range(1, 100):
                values[n] = together * values[n - 1] + math.sqrt(1 - together**2) * values[n]
            found += change(values.tolist()) is not None
        assert abs(found / runs - share) <= 5 * math.sqrt(share * (1 - share) / runs), (together, found)
