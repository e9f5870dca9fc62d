"""Queues of jobs as executors: submitit's, and others whose jobs are asked whether they are done.

    executor = submitit.AutoExecutor(folder="logs")
    executor.update_parameters(slurm_partition="cpu", timeout_min=30)
    sweep.run(grids, problems, executor=sweep.JobQueue(executor, workers=200), …)

A job that was lost, with its machine or to a time limit, is submitted again; an error of the work itself is
not, and ends the sweep. What is finished is in the results folder either way.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from driftopt import checks

TRIES = 3  # of a job that is lost
EVERY = 1.0  # seconds between two looks at the queue


class JobQueue(Executor):
    """An executor over anything with `submit(function, *arguments)` that gives jobs.

    A job has `done()`, `result()` and `exception()`. Lost are jobs whose exception is of a class named in
    `lost`: submitit's is UncompletedJobError, whose child FailedJobError is an error of the work. `workers`
    is how many jobs the queue runs at once, as far as is known: a sweep is cut for them.
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
        self._looking: threading.Thread | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Put a job into the queue."""

        def put() -> Any:
            return self._queue.submit(fn, *args, **kwargs)

        future: Future[Any] = Future()
        with self._changed:
            if self._ends:
                raise RuntimeError("this queue was shut down: make another JobQueue")
            self._jobs[future] = (put(), put, 1)
            if self._looking is None:
                self._looking = threading.Thread(target=self._look, daemon=True)
                self._looking.start()
            self._changed.notify_all()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more; jobs that were submitted go on."""
        with self._changed:
            self._ends = True
            if cancel_futures:
                for future in list(self._jobs):
                    if future.cancel():
                        del self._jobs[future]
            self._changed.notify_all()
        if wait and self._looking is not None:
            self._looking.join()

    def _look(self) -> None:
        """Ask every job now and then, until none is left and none can come."""
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
                    self._changed.wait(self._every)  # a new job, too, is a reason to look

    def _settle(self, future: "Future[Any]", job: Any, put: Callable[[], Any], tries: int) -> None:
        """Hand on what became of a job, if something has."""
        try:
            if not future.cancelled() and not job.done():
                return
            error = None if future.cancelled() else job.exception()
            if error is not None and tries < TRIES and self._was_lost(error):
                with self._changed:
                    self._jobs[future] = (put(), put, tries + 1)
                return
            result = None if error is not None or future.cancelled() else job.result()
        except Exception as failed:  # the queue itself: whoever waits must learn of it
            error, result = failed, None
        with self._changed:
            self._jobs.pop(future, None)
        if future.set_running_or_notify_cancel():
            future.set_result(result) if error is None else future.set_exception(error)

    def _was_lost(self, error: BaseException) -> bool:
        return type(error).__name__ in self._lost
