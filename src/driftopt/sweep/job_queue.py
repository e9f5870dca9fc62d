"""Job queues as executors: submitit's, and others whose jobs have `done` and `result`.

    executor = submitit.AutoExecutor(folder="logs")
    executor.update_parameters(slurm_partition="cpu", timeout_min=30)
    sweep.run(grids, problems, executor=sweep.JobQueue(executor, workers=200), …)

A job that was lost, with its machine or to a time limit, is submitted again. An error of the work itself ends
the sweep. Finished parts are in the results folder either way.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from driftopt import checks

TRIES = 3  # of a job that gets lost
EVERY = 1.0  # seconds between two checks of the queue


class JobQueue(Executor):
    """An executor over any queue whose `submit(function, *arguments)` returns jobs.

    Args:
        queue: its jobs have `done()`, `result()` and `exception()`.
        every: seconds between two checks of all jobs.
        lost: names of the exceptions of lost jobs. submitit's is UncompletedJobError; its subclass
            FailedJobError is an error of the work.
        workers: how many jobs the queue runs in parallel, if known; sweeps are cut for them.
    """

    def __init__(
        self,
        queue: Any,
        *,
        every: float = EVERY,
        lost: tuple[str, ...] = ("UncompletedJobError",),
        workers: int | None = None,
    ):
        if not callable(getattr(queue, "submit", None)):
            raise ValueError(
                f"queue must have submit(function, …), as submitit's executors do; got {queue!r}"
            )
        self._queue = queue
        self._every = checks.one_positive("every", every)
        self._lost = lost
        self.workers = None if workers is None else checks.one_count("workers", workers)
        self._jobs: dict[Future[Any], tuple[Any, Callable[[], Any], int]] = {}
        self._changed = threading.Condition()
        self._ends = False
        self._watcher: threading.Thread | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Put a job into the queue."""

        def put() -> Any:
            return self._queue.submit(fn, *args, **kwargs)

        future: Future[Any] = Future()
        with self._changed:
            if self._ends:
                raise RuntimeError("this queue was shut down: make another JobQueue")
            self._jobs[future] = (put(), put, 1)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, daemon=True)
                self._watcher.start()
            self._changed.notify_all()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further jobs; submitted jobs continue."""
        with self._changed:
            self._ends = True
            if cancel_futures:
                for future in list(self._jobs):
                    if future.cancel():
                        del self._jobs[future]
            self._changed.notify_all()
        if wait and self._watcher is not None:
            self._watcher.join()

    def _watch(self) -> None:
        """Check every job now and then, until none is left and none can come."""
        while True:
            with self._changed:
                while not self._jobs and not self._ends:
                    self._changed.wait()
                if not self._jobs:
                    return
                jobs = dict(self._jobs)
            for future, (job, put, tries) in jobs.items():
                self._settle(future, job, put, tries)
            with self._changed:
                if self._jobs:
                    self._changed.wait(self._every)  # a new job ends the wait, too

    def _settle(self, future: "Future[Any]", job: Any, put: Callable[[], Any], tries: int) -> None:
        """Pass on the result or the error of a finished job; submit a lost one again."""
        try:
            if not future.cancelled() and not job.done():
                return
            error = None if future.cancelled() else job.exception()
            if error is not None and tries < TRIES and type(error).__name__ in self._lost:
                with self._changed:
                    self._jobs[future] = (put(), put, tries + 1)
                return
            result = None if error is not None or future.cancelled() else job.result()
        except Exception as failed:  # an error of the queue must reach the waiting caller
            error, result = failed, None
        with self._changed:
            self._jobs.pop(future, None)
        if future.set_running_or_notify_cancel():
            future.set_result(result) if error is None else future.set_exception(error)
