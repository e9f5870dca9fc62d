"""How a sweep is divided: every run once, no part too large, the same bits whatever the division."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt import sweep
from driftopt.problems import Pricing
from driftopt.sweep import cutting, grid, tasks
from driftopt.sweep.simulated import Simulated, Simulation
from driftopt.sweep.tasks import RunSettings, Tile, division, tile_of

SHOPS = [Pricing.synthetic(seed, buyers=20, products=3) for seed in range(3)]
GRIDS = [
    grid("zo-o2nc-2pt", step=[0.01, 0.1], radius=[0.3, 0.9], block=5, batch=[1, 2]),
    grid("zo-sph", radius=[0.1, 0.5, 1.0], step=0.05),
]
CALL = {"budget": 60, "seeds": [3, 1, 4, 7, 5], "evaluate_every": 20, "progress": False}


def runs_of(parts):
    return [
        (part.grid.label, instance, seed, configuration)
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
    arguments = (source, RunSettings(60), [3, 1, 4, 7, 5], picked)
    groups = [group for one in GRIDS for group in cutting.groups_of(one, *arguments)]
    cut, whole = ([g.cut(block) for g in groups for block in g.blocks(n)] for n in (most, None))
    found = runs_of(cut)
    assert len(set(found)) == len(found)
    assert set(found) == set(runs_of(whole))
    for part in cut:
        assert len(runs_of([part])) <= max(most, np.prod(part.task.tile.shape))
    assert sum(part.queries for part in cut) == sum(part.queries for part in whole)


LENGTHS = st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(1, 600))


@given(LENGTHS, st.integers(1, 100_000), st.integers(1, 5000), st.integers(1, 20_000), st.booleans())
@settings(max_examples=200)
def test_parts_are_whole_tiles_that_cover_everything_once(lanes, budget, memory, most, accelerator):
    tile = tile_of(lanes, budget, memory, accelerator=accelerator)
    assert all(1 <= size <= length for size, length in zip(tile.shape, lanes, strict=True))
    assert np.prod(tile.shape) <= (tasks.SIDE_BY_SIDE if accelerator else tasks.LARGEST)
    assert tile.instances * tile.configurations <= memory
    filled = np.prod([-(-n // size) * size for n, size in zip(lanes, tile.shape, strict=True)])
    assert filled <= 2 * np.prod(lanes)
    parts = list(division(lanes, tile, most))
    assert sum(np.prod([end - first for first, end in part]) for part in parts) == np.prod(lanes)
    for part in parts:
        assert all(first % size == 0 for (first, _), size in zip(part, tile.shape, strict=True))


@pytest.fixture
def tiles_of_six(monkeypatch):
    """Tiles of six runs, or less where that fills them better."""
    for name, value in {"WIDE": 6, "NARROW": 1, "QUERIES": 1}.items():
        monkeypatch.setattr(tasks, name, value)


def same(one, other):
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name])
    np.testing.assert_array_equal(one.x, other.x)
    for own, others in zip(one.curves, other.curves, strict=True):
        np.testing.assert_array_equal(own, others)


@pytest.mark.usefixtures("tiles_of_six")
def test_every_division_gives_the_same_bits_wherever_it_runs():
    whole = sweep.run(GRIDS, SHOPS, parts=1, **CALL)
    assert whole.manifest["parts"] == 3
    for parts in (2, 3, 7, 1000):
        divided = sweep.run(GRIDS, SHOPS, parts=parts, **CALL)
        assert divided.manifest["parts"] >= min(parts, 20)
        same(whole, divided)
    with ThreadPoolExecutor(3) as threads:
        same(whole, sweep.run(GRIDS, SHOPS, parts=7, executor=threads, **CALL))


@pytest.mark.usefixtures("tiles_of_six")
def test_without_tiles_another_division_rounds_otherwise(monkeypatch):
    """What the tiles are for: each part as one program of its own shape."""
    run = Simulation.run

    def as_one(task):
        seeds = len(task.seeds[0])
        return run(replace(task, tile=Tile(len(task.problems), seeds, len(task.method.radius[0]))))

    monkeypatch.setattr(Simulation, "run", as_one)
    steps = [grid("zo-o2nc-2pt", step=[0.01, 0.1], radius=[0.3, 0.9], block=5)]
    whole, divided = (sweep.run(steps, SHOPS, parts=parts, **CALL) for parts in (1, 1000))
    np.testing.assert_allclose(whole.x, divided.x, rtol=1e-3, atol=1e-4)
    assert not np.array_equal(whole.x, divided.x)


@pytest.mark.parametrize("parts", [0, -1, 2.5, "many", True])
def test_a_number_of_parts_that_is_none_is_refused(parts):
    with pytest.raises(ValueError, match="parts"):
        sweep.run(GRIDS, SHOPS, parts=parts, **CALL)
