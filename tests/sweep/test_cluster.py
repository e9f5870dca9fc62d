"""A sweep on a real Dask cluster of two worker processes, one of which is killed half-way."""

import os
import signal

import numpy as np
import pytest

from driftopt import sweep
from driftopt.problems.synthetic import kink
from driftopt.sweep import grid
from driftopt.sweep.kept_parts import Store

distributed = pytest.importorskip("distributed", reason="needs driftopt[dask]")

GRIDS = [grid("zo-og", step=[0.01, 0.02], radius=[0.5, 1.0], batch=[1, 2, 4, 5, 8, 10])]
CALL = {"problems": [kink(2, rng=1)], "budget": 80, "seeds": [1, 2], "progress": False}


@pytest.mark.slow
@pytest.mark.usefixtures("optimised_as_always")  # as the workers, which are processes of their own
def test_a_killed_worker_changes_nothing(tmp_path, monkeypatch):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        first = cluster.workers[0].pid
        kept, put = [], Store.put

        def put_and_kill(self, key, arrays):
            put(self, key, arrays)
            if not kept:
                os.kill(first, signal.SIGKILL)
            kept.append(key)

        with monkeypatch.context() as patch:
            patch.setattr(Store, "put", put_and_kill)
            scattered = sweep.run(GRIDS, executor=client.get_executor(), folder=tmp_path, **CALL)
        assert cluster.workers[0].pid != first  # it died, and its nanny started another
    assert len(kept) == scattered.manifest["parts"] == 6
    assert scattered.manifest["parts_found_finished"] == 0
    here = sweep.run(GRIDS, **CALL)
    for name, column in here.columns.items():
        np.testing.assert_array_equal(column, scattered.columns[name])
    np.testing.assert_array_equal(here.x, scattered.x)
