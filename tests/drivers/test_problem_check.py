"""How `check` judges samples against an objective, on samples made by hand."""

import numpy as np
import pytest

from driftopt.drivers import problem_check


def judged(values, exact):
    return {finding.promise: finding.kept for finding in problem_check._law("x0", np.asarray(values), exact)}


def around(mean, spread, n=400):
    """n values of exactly this mean and standard deviation."""
    signs = np.resize([1.0, -1.0], n)
    return mean + spread * signs / signs.std(ddof=1)


MEAN = "the objective is the samples' mean at x0"


@pytest.mark.parametrize("exact", [0.0, 3.0, -1000.0])
def test_a_mean_five_standard_errors_away_is_found(exact):
    """Whatever the size of the values: the standard error is 2/√400 = 0.1."""
    assert judged(around(exact + 0.49, 2.0), exact)[MEAN]
    assert not judged(around(exact + 0.51, 2.0), exact)[MEAN]
    assert not judged(around(exact - 0.51, 2.0), exact)[MEAN]


def test_rounding_alone_is_no_fault():
    """Sums in single precision: a gap of 1e-4 of the values is let pass, twice that is not."""
    assert judged(around(1000.09, 1e-9), 1000.0)[MEAN]
    assert not judged(around(1000.2, 1e-9), 1000.0)[MEAN]


def test_samples_that_do_not_depend_on_the_key_are_found():
    found = judged(np.full(400, 2.0), 2.0)
    assert found == {"samples depend on the key at x0": False, MEAN: True}
    assert judged(np.full(400, 2.0), 3.0) == {"samples depend on the key at x0": False, MEAN: False}


@pytest.mark.parametrize(
    ("values", "exact"), [([1.0, np.inf], 1.0), ([1.0, np.nan], 1.0), ([1.0, 2.0], np.inf)]
)
def test_what_is_not_finite_is_the_only_finding(values, exact):
    assert judged(values, exact) == {"finite at x0": False}
