"""A sweep on processes: a pool of them, and a Dask cluster of two, one of which is killed half-way.

The bits are those of a run in this process, which is divided otherwise.
"""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from driftopt import sweep
from driftopt.problems.synthetic import kink
from driftopt.sweep import grid
from driftopt.sweep.results import Store

distributed = pytest.importorskip("distributed", reason="needs driftopt[dask]")

GRIDS = [grid("zo-og", step=[0.01, 0.02], radius=[0.5, 1.0], batch=[1, 2, 4])]
CALL = {"problems": [kink(2, rng=1)], "budget": 80, "seeds": [1, 2], "progress": False}


def same_as_here(scattered):
    here = sweep.run(GRIDS, **CALL)
    assert here.manifest["parts"] == 3 < scattered.manifest["parts"]
    for name, column in here.columns.items():
        np.testing.assert_array_equal(column, scattered.columns[name])
    np.testing.assert_array_equal(here.x, scattered.x)


@pytest.mark.usefixtures("small_tiles")
def test_processes_give_the_same_bits():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        same_as_here(sweep.run(GRIDS, executor=pool, parts=7, **CALL))


@pytest.mark.usefixtures("small_tiles")  # as the workers, which are other processes
def test_a_killed_worker_changes_nothing(tmp_path, monkeypatch):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        first = cluster.workers[0].pid
        kept, put = [], Store.put

        def put_and_kill(self, part, arrays):
            put(self, part, arrays)
            if not kept:
                os.kill(first, signal.SIGKILL)
            kept.append(self.file(part))

        with monkeypatch.context() as patch:
            patch.setattr(Store, "put", put_and_kill)
            scattered = sweep.run(GRIDS, executor=client.get_executor(), folder=tmp_path, parts=12, **CALL)
        assert cluster.workers[0].pid != first  # it died, and its nanny started another
    # Each part is kept once: what the dead worker had begun is done again, and nothing else is.
    assert len(kept) == len(set(kept)) == scattered.manifest["parts"]
    assert scattered.manifest["parts_found_finished"] == 0
    same_as_here(scattered)
