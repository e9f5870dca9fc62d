"""Where parts run: threads, processes, Dask, and job queues, each worker with the code of the one that asked.

A job queue such as submitit's becomes an executor by `JobQueue`:

    executor = submitit.AutoExecutor(folder="logs")
    executor.update_parameters(slurm_partition="cpu", timeout_min=30)
    sweep.run(grids, problems, executor=sweep.JobQueue(executor, workers=200), …)
"""

import os
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from driftopt import checks
from driftopt.runtime.fingerprint import code_version
from driftopt.runtime.forks import refuse_after_fork
from driftopt.runtime.identity import own_files
from driftopt.sweep.cutting import Part, workers_of
from driftopt.sweep.tasks import Arrays, Task

IN_FLIGHT = 64  # parts submitted to an executor at a time, or two for each worker where that is more
SCRIPTS = ("__main__", "__mp_main__")  # each process has its own
TRIES = 3  # of a job that gets lost
EVERY = 1.0  # seconds between two checks of a queue


class OtherCode(RuntimeError):
    """A worker's code is not the asker's; the message says what differs and what to do."""


@dataclass(frozen=True)
class Origin:
    """The process that asks for a result, and its code, from which the result's name is made."""

    process: str  # machine and number
    version: str  # of driftopt, of what it builds on, and of the libraries that the task runs
    files: dict[str, str]  # the hash of each source file of the user's own, by module


def origin(task: Task) -> Origin:
    """This process and the code that the task would run with here."""
    files = {name: file.digest for name, file in own_files().items() if name not in SCRIPTS}
    return Origin(_process(), _version(task), files)


def run_task(task: Task, asked: Origin | None) -> tuple[Arrays, float]:
    """The task's arrays, and the seconds that they took. Executors call it: any worker can import it.

    Raises:
        OtherCode: this process would compute something else than was asked for: its driftopt is older, say,
            or its modules were imported before they were edited.
        ForkedProcess: it was forked from one in which JAX had started.
    """
    refuse_after_fork()
    if asked is not None and asked.process != _process():
        if asked.version != (here := _version(task)):
            raise OtherCode(
                f"the worker {_process()} has another driftopt, another library or other devices than "
                f"{asked.process}, which asked:\n  {here} here\n  {asked.version} there\n"
                "Install the same on every worker, and start them again"
            )
        for name, file in own_files().items():
            if name in asked.files and (file.edited or file.digest != asked.files[name]):
                raise OtherCode(
                    f"the worker {_process()} may not have the {name} of {asked.process}, which asked: "
                    f"{file.path} differs, or was edited after the worker began. Start the workers again"
                )
    began = time.monotonic()
    return task.run(), time.monotonic() - began


def _version(task: Task) -> str:
    return " ".join([code_version(), *(f"{name} {version}" for name, version in task.libraries.items())])


def _process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def submit_all(
    executor: Executor,
    parts: Sequence[Part],
    missing: Sequence[int],
    finish: Callable[[int, Arrays, float], None],
    finished_elsewhere: Callable[[int], bool],
) -> None:
    """Run the missing parts with a window of them on the executor, and keep results as they come."""
    processes = not isinstance(executor, ThreadPoolExecutor)  # threads share our code, and compile for all
    waiting = list(reversed(missing if processes else compilations_first(parts, missing)))
    running: dict[Future[tuple[Arrays, float]], int] = {}
    asked: dict[int, Origin] = {}  # by group, where workers are other processes
    try:
        while waiting or running:
            window = max(IN_FLIGHT, 2 * (workers_of(executor) or 0))
            while waiting and len(running) < window:
                i = waiting.pop()
                if not finished_elsewhere(i):
                    task, group = parts[i].task, parts[i].group
                    if processes and id(group) not in asked:
                        asked[id(group)] = origin(task)
                    running[executor.submit(run_task, task, asked.get(id(group)))] = i
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                finish(running[future], *future.result())
                del running[future]
    except BaseException:
        # Results that workers have finished meanwhile, or that threads here are finishing, are kept.
        begun = [future for future in running if not future.cancel()]
        if isinstance(executor, ThreadPoolExecutor):
            wait(begun)
        for future in begun:
            # A second failure, of the same full disk for example, must not hide the first.
            with suppress(Exception):
                if future.done() and not future.cancelled() and future.exception() is None:
                    finish(running[future], *future.result())
        raise


def compilations_first(parts: Sequence[Part], missing: Sequence[int]) -> list[int]:
    """One part of every program before the second of any, so that no two threads compile the same.

    The longest compilation comes first: begun last, it would keep one core busy and the others waiting.
    """
    programs = {id(parts[i].group): parts[i].group.work for i in missing}
    known = {group: (task.program, task.effort) for group, task in programs.items()}
    seen: dict[Any, tuple[int, int]] = {}  # the parts of a program so far, and its effort
    order: list[tuple[int, int, int]] = []
    for i in missing:
        program, effort = known[id(parts[i].group)]
        count, effort = seen.get(program, (0, effort))
        seen[program] = count + 1, effort
        order.append((count, -effort, i))
    return [i for *_, i in sorted(order)]


class JobQueue(Executor):
    """An executor over any queue whose `submit(function, *arguments)` returns jobs, such as submitit's.

    A job that was lost, with its machine or to a time limit, is submitted again. An error of the work itself
    ends the sweep. Finished parts are in the results folder either way.

    Args:
        queue: its jobs have `done()`, `result()` and `exception()`.
        every: seconds between two checks of a job.
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
        self._queue, self._every, self._lost = queue, checks.one_positive("every", every), lost
        self.workers = None if workers is None else checks.one_count("workers", workers)
        self._waiting = ThreadPoolExecutor(max(IN_FLIGHT, 2 * (self.workers or 0)))  # one thread a job

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Put a job into the queue."""

        def follow(tries: int) -> Any:
            job = self._queue.submit(fn, *args, **kwargs)
            while not job.done():
                time.sleep(self._every)
            if (error := job.exception()) is None:
                return job.result()
            if tries > 1 and type(error).__name__ in self._lost:
                return follow(tries - 1)
            raise error

        return self._waiting.submit(follow, TRIES)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further jobs; submitted jobs continue."""
        self._waiting.shutdown(wait, cancel_futures=cancel_futures)
