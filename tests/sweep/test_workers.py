"""Parts for the workers that there are, and a sweep that others go on with."""

from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

from driftopt import sweep
from driftopt.problems.synthetic import kink
from driftopt.runtime import folders
from driftopt.sweep import executors, grid
from driftopt.sweep.cutting import workers_of
from driftopt.sweep.simulated import Simulated

GRIDS = [grid("zo-sph", step=[0.01, 0.02], radius=[0.5, 1.0])]
CALL = {"problems": [kink(2, rng=1)], "budget": 40, "seeds": range(6)}


class Here(Executor):
    """Runs at once what is submitted, as so many workers would; after `last` tasks the scheduler is gone."""

    def __init__(self, count, last=10**9):
        self.workers, self.last, self.ran = count, last, 0

    def submit(self, fn, /, *args, **kwargs):
        if self.ran == self.last:
            raise ConnectionError("the scheduler is gone")
        self.ran += 1
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.fixture
def cheap(monkeypatch, small_tiles):
    """Parts of forty queries pay."""
    monkeypatch.setattr(Simulated, "worth", 40)


def same(one, other):
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.columns["objective"], other.columns["objective"])


def test_workers_are_counted():
    assert workers_of(ThreadPoolExecutor(3)) == 3
    assert workers_of(Here(5)) == 5
    assert workers_of(object()) is None
    assert workers_of(None) is None


@pytest.mark.usefixtures("cheap")
def test_a_sweep_is_cut_for_the_workers_and_threads_for_none():
    """24 runs: 12 parts for three workers, as many as there are runs for a hundred."""
    found = {count: sweep.run(GRIDS, executor=Here(count), progress=False, **CALL) for count in (1, 3, 100)}
    parts = {count: runs.manifest["parts"] for count, runs in found.items()}
    assert parts == {1: 6, 3: 12, 100: 24}
    with ThreadPoolExecutor(3) as threads:
        assert sweep.run(GRIDS, executor=threads, progress=False, **CALL).manifest["parts"] == 1


def test_what_would_not_pay_is_not_cut():
    assert sweep.run(GRIDS, executor=Here(100), progress=False, **CALL).manifest["parts"] == 1


@pytest.fixture(params=["disk", "store"])
def place(request, tmp_path):
    """Where results stream to: a folder, or an object store."""
    if request.param == "disk":
        return tmp_path
    pytest.importorskip("fsspec", reason="needs driftopt[fsspec]")
    return f"memory://{tmp_path.name}"


@pytest.mark.usefixtures("cheap")
def test_another_scheduler_goes_on_with_other_workers(place):
    """The first is gone after five of 12 parts; the second cuts the rest for itself. The same bits."""
    first = Here(3, last=5)
    with pytest.raises(ConnectionError):
        sweep.run(GRIDS, executor=first, folder=place, progress=False, **CALL)
    second = Here(1)
    runs = sweep.run(GRIDS, executor=second, folder=place, progress=False, **CALL)
    assert (runs.manifest["parts"], runs.manifest["parts_found_finished"], second.ran) == (9, 5, 4)
    same(runs, sweep.run(GRIDS, executor=Here(3), progress=False, **CALL))
    for other in ({}, {"parts": 2}, {"executor": Here(100)}):  # whatever division it asks for
        again = sweep.run(GRIDS, folder=place, progress=False, **other, **CALL)
        assert (again.manifest["parts"], again.manifest["parts_found_finished"]) == (9, 9)
    fresh = sweep.run(GRIDS, executor=Here(1), folder=place, fresh=True, progress=False, **CALL)
    assert fresh.manifest["parts"] == 6


@pytest.mark.usefixtures("cheap")
def test_of_two_schedulers_each_leaves_out_what_the_other_has_finished(place, monkeypatch):
    """The other one finishes everything while the first has one part in flight at a time."""

    class Interrupted(Here):
        def submit(self, fn, /, *args, **kwargs):
            future = super().submit(fn, *args, **kwargs)
            if self.ran == 1:
                sweep.run(GRIDS, executor=Here(3), folder=place, progress=False, **CALL)
            return future

    monkeypatch.setattr(folders, "LISTED", 0.0)
    monkeypatch.setattr(executors, "IN_FLIGHT", 1)
    first = Interrupted(3)
    monkeypatch.setattr(executors, "workers_of", lambda _: 0)
    runs = sweep.run(GRIDS, executor=first, folder=place, progress=False, **CALL)
    assert first.ran == 1
    assert (runs.manifest["parts"], runs.manifest["parts_found_finished"]) == (12, 11)
