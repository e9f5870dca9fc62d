"""How `check` judges samples against an objective, on samples made by hand."""

import re

import numpy as np
import pytest

from driftopt.drivers.problem_check import Look
from driftopt.drivers.problem_check import judged as judged_all


def judged(*looks):
    looks = [Look(f"point {k}", np.asarray(values), exact) for k, (values, exact) in enumerate(looks)]
    return {finding.promise: finding.kept for finding in judged_all(looks)}


def around(mean, spread, n=400):
    """n values of exactly this mean and standard deviation."""
    signs = np.resize([1.0, -1.0], n)
    return mean + spread * signs / signs.std(ddof=1)


KEY, MEAN = "samples depend on the key", "the objective is the samples' mean at point 0"


@pytest.mark.parametrize("exact", [0.0, 3.0, -1000.0])
def test_a_mean_five_standard_errors_away_is_found(exact):
    """Whatever the size of the values: the standard error is 2/√400 = 0.1."""
    assert judged((around(exact + 0.49, 2.0), exact))[MEAN]
    assert not judged((around(exact + 0.51, 2.0), exact))[MEAN]
    assert not judged((around(exact - 0.51, 2.0), exact))[MEAN]


def test_the_report_says_what_error_it_would_have_seen():
    """Seven standard errors of 0.1, or what rounding hides where there is less noise than that."""
    for spread, exact, seen in ((2.0, 3.0, 0.7), (1e-9, 1000.0, 0.1)):
        (*_, mean) = judged_all([Look("x0", around(exact, spread), exact)])
        said = float(re.search(r"an error of (\S+) would be seen", mean.detail)[1])
        assert said == pytest.approx(seen, rel=0.05)
        (*_, wrong) = judged_all([Look("x0", around(exact + 1.01 * said, spread), exact)])
        assert not wrong.kept


def test_rounding_alone_is_no_fault():
    """Sums in single precision: a gap of 1e-4 of the values is let pass, twice that is not."""
    assert judged((around(1000.09, 1e-9), 1000.0))[MEAN]
    assert not judged((around(1000.2, 1e-9), 1000.0))[MEAN]


def test_samples_that_depend_on_the_key_at_no_point_are_found():
    alike = np.full(400, 2.0)
    assert judged((alike, 2.0)) == {KEY: False, MEAN: True}
    assert judged((alike, 3.0)) == {KEY: False, MEAN: False}
    assert not judged((alike, 2.0), (alike, 2.0))[KEY]
    assert judged((alike, 2.0), (around(2.0, 1.0), 2.0))[KEY]


@pytest.mark.parametrize(
    ("values", "exact"), [([1.0, np.inf], 1.0), ([1.0, np.nan], 1.0), ([1.0, 2.0], np.inf)]
)
def test_what_is_not_finite_is_the_only_finding_unless_it_is_far(values, exact):
    assert judged((values, exact)) == {"finite at point 0": False}
    (finding,) = judged_all([Look("3 from x0", np.asarray(values), exact, far=True)])
    assert finding.kept
    assert "left out" in finding.detail
