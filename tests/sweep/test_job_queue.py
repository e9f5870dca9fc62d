"""A queue of jobs as an executor: results, errors, lost jobs, and a sweep through submitit."""

import threading

import numpy as np
import pytest

from driftopt import sweep
from driftopt.problems import kink
from driftopt.sweep import JobQueue, grid

GRIDS = [grid("zo-og", step=[0.01, 0.02], radius=[0.5, 1.0])]
CALL = {"problems": [kink(2, rng=1)], "budget": 80, "seeds": [1, 2], "progress": False}


class UncompletedJobError(RuntimeError):
    """As submitit says that a job was lost."""


class Job:
    """Done when somebody has looked once; `losses` lost jobs come before one that is not."""

    def __init__(self, work, queue):
        self._work, self._queue, self._looked = work, queue, False
        self._lost = queue.losses > 0
        queue.losses -= self._lost

    def done(self):
        self._looked, looked = True, self._looked
        return looked

    def exception(self):
        if self._lost:
            return UncompletedJobError("its machine is gone")
        try:
            self._work()
        except Exception as error:
            return error
        return None

    def result(self):
        return self._work()


class Queue:
    def __init__(self, losses=0):
        self.losses, self.submitted = losses, 0

    def submit(self, fn, *args):
        self.submitted += 1
        return Job(lambda: fn(*args), self)


def test_results_and_errors_come_through():
    with JobQueue(Queue(), every=1e-3) as executor:
        futures = [executor.submit(divmod, 7, k) for k in (2, 0, 4)]
        assert futures[0].result() == (3, 1)
        assert futures[2].result() == (1, 3)
        with pytest.raises(ZeroDivisionError):
            futures[1].result()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(divmod, 1, 1)


def test_a_lost_job_is_submitted_again_and_one_that_is_always_lost_is_given_up():
    queue = Queue(losses=2)
    with JobQueue(queue, every=1e-3) as executor:
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
    assert queue.submitted == 3
    queue = Queue(losses=99)
    with JobQueue(queue, every=1e-3) as executor, pytest.raises(UncompletedJobError):
        executor.submit(divmod, 7, 2).result()
    assert queue.submitted == 3


def test_an_error_of_the_work_is_not_tried_again():
    queue = Queue()
    with JobQueue(queue, every=1e-3) as executor, pytest.raises(ZeroDivisionError):
        executor.submit(divmod, 7, 0).result()
    assert queue.submitted == 1


def test_shutting_down_waits_for_jobs_and_leaves_no_thread():
    before = threading.active_count()
    executor = JobQueue(Queue(), every=1e-3)
    future = executor.submit(divmod, 7, 2)
    executor.shutdown()
    assert future.done()
    assert threading.active_count() == before


@pytest.mark.parametrize("queue", [None, "slurm", 3])
def test_what_is_no_queue_is_refused(queue):
    with pytest.raises(ValueError, match="queue"):
        JobQueue(queue)


@pytest.mark.usefixtures("small_tiles")
def test_a_sweep_through_submitit_gives_the_same_bits(tmp_path):
    submitit = pytest.importorskip("submitit", reason="needs driftopt[submitit]")
    queue = submitit.AutoExecutor(folder=tmp_path / "logs", cluster="local")
    queue.update_parameters(timeout_min=5)
    with JobQueue(queue, every=0.05) as executor:
        there = sweep.run(GRIDS, executor=executor, folder=tmp_path, parts=2, **CALL)
    here = sweep.run(GRIDS, **CALL)
    np.testing.assert_array_equal(here.x, there.x)
