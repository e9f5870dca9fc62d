"""How a sweep is divided: every run once, no part too large, one table whatever the division."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt import sweep
from driftopt.problems import Pricing
from driftopt.sweep import cutting, grid
from driftopt.sweep.parts import Simulated
from driftopt.sweep.task import RunSettings

SHOPS = [Pricing.synthetic(seed, buyers=20, products=3) for seed in range(3)]
GRIDS = [
    grid("zo-o2nc-2pt", step=[0.01, 0.1], radius=[0.3, 0.9], block=5, batch=[1, 2]),
    grid("auto", radius=[0.1, 0.5, 1.0]),
]
CALL = {"budget": 60, "seeds": [3, 1, 4, 7, 5], "progress": False}


def runs_of(parts):
    return [
        (part.label, instance, seed, configuration)
        for part in parts
        for row, instance in zip(part.configurations, part.instances, strict=True)
        for seed in part.seeds
        for configuration in row
    ]


@given(st.integers(1, 130), st.booleans())
@settings(max_examples=20)
def test_every_run_is_in_one_part_and_no_part_is_too_large(most, chosen):
    source = Simulated(SHOPS, "abc")
    picked = [1, 0, 2] if chosen else None
    cut = [
        part
        for one in GRIDS
        for part in cutting.cut(one, source, RunSettings(60), [3, 1, 4, 7, 5], picked, most)
    ]
    whole = [
        part for one in GRIDS for part in cutting.cut(one, source, RunSettings(60), [3, 1, 4, 7, 5], picked)
    ]
    found = runs_of(cut)
    assert len(set(found)) == len(found)
    assert set(found) == set(runs_of(whole))
    assert max(len(runs_of([part])) for part in cut) <= most
    assert sum(part.queries for part in cut) == sum(part.queries for part in whole)


@pytest.fixture(scope="module")
def whole():
    return sweep.run(GRIDS, SHOPS, **CALL)


@pytest.mark.parametrize("parts", [8, 1000])
def test_every_division_gives_the_same_table_to_rounding(whole, parts):
    """Programs of another shape round otherwise, single lanes above all."""
    divided = sweep.run(GRIDS, SHOPS, parts=parts, **CALL)
    assert divided.manifest["parts"] >= min(parts, 11 * 3 * 5)
    for name, column in whole.columns.items():
        if name != "objective":
            np.testing.assert_array_equal(column, divided.columns[name])
    np.testing.assert_allclose(whole.columns["objective"], divided.columns["objective"], rtol=1e-4)
    np.testing.assert_allclose(whole.x, divided.x, rtol=1e-3, atol=1e-4)


def test_one_division_gives_the_same_bits_wherever_it_runs():
    here = sweep.run(GRIDS, SHOPS, parts=7, **CALL)
    with ThreadPoolExecutor(3) as threads:
        there = sweep.run(GRIDS, SHOPS, parts=7, executor=threads, **CALL)
    np.testing.assert_array_equal(here.x, there.x)
    np.testing.assert_array_equal(here.columns["objective"], there.columns["objective"])


@pytest.mark.parametrize("parts", [0, -1, 2.5, "many", True])
def test_a_number_of_parts_that_is_none_is_refused(parts):
    with pytest.raises(ValueError, match="parts"):
        sweep.run(GRIDS, SHOPS, parts=parts, **CALL)
