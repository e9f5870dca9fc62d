"""Parts run here or by any executor; each is kept the moment it is finished."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

from driftopt.runtime.jax_settings import cores
from driftopt.sweep.kept_parts import Arrays, Store
from driftopt.sweep.parts import Part
from driftopt.sweep.progress import SweepProgress
from driftopt.sweep.reuse import each_sweep_says_it
from driftopt.sweep.same_code import origin, run_task
from driftopt.sweep.workers import workers_of

IN_FLIGHT = 64  # parts handed to an executor at once, or two for each worker where these are more


def execute(
    parts: Sequence[Part], store: Store, executor: Executor | None, shown: SweepProgress
) -> tuple[list[Arrays], int]:
    """The parts' arrays in order, and how many were found finished."""
    keys = _keys(parts, store, shown)
    found = [_kept(store, key, part) for key, part in zip(keys, parts, strict=True)]
    missing = [i for i, arrays in enumerate(found) if arrays is None]
    reused = len(parts) - len(missing)
    if reused and each_sweep_says_it.get():  # whatever the mode: old figures must not pass for new ones
        shown.note(f"{reused} of {len(parts)} parts were finished before and are reused from {store.folder}")
    for i, arrays in enumerate(found):
        if arrays is not None:
            shown.skip(parts[i].queries)

    def finish(i: int, arrays: Arrays) -> None:
        key = keys[i]
        found[i] = arrays if key is None else store.put(key, arrays)
        shown.advance(parts[i].queries)

    def elsewhere(i: int) -> bool:
        """Whether another scheduler has finished the part in the same folder meanwhile."""
        nonlocal reused
        found[i] = _kept(store, keys[i], parts[i])
        if found[i] is not None:
            reused += 1
            shown.skip(parts[i].queries)
        return found[i] is not None

    try:
        if executor is None:
            # Threads: one compiles while another computes.
            with ThreadPoolExecutor(max(2, min(cores(), 16))) as pool:
                _submit(pool, _compilations_first(parts, missing), finish, elsewhere)
        elif isinstance(executor, ThreadPoolExecutor):
            _submit(executor, _compilations_first(parts, missing), finish, elsewhere)
        else:
            _submit(executor, [(i, parts[i].task) for i in missing], finish, elsewhere)
    except KeyboardInterrupt:
        shown.note(_interrupted(keys, found, store))
        raise
    return [arrays for arrays in found if arrays is not None], reused


def _kept(store: Store, key: str | None, part: Part) -> Arrays | None:
    return None if key is None else store.get(key, part.check)


def _interrupted(keys: Sequence[str | None], found: Sequence[Arrays | None], store: Store) -> str:
    done = [key for key, arrays in zip(keys, found, strict=True) if arrays is not None]
    finished = f"interrupted: {len(done)} of {len(keys)} parts are finished and"
    if store.folder is None:
        return f"{finished} are lost: no results folder was given"
    if None in done:
        return f"{finished} are lost: they may depend on what cannot be seen, and were given no version"
    return f"{finished} are safe in {store.folder}; give the same command again to go on from there"


def _keys(parts: Sequence[Part], store: Store, shown: SweepProgress) -> list[str | None]:
    """The name of each part's result; None where it is not kept, or may depend on what cannot be seen."""
    if store.folder is None:
        return [None] * len(parts)
    if unseen := list(dict.fromkeys(sentence for part in parts for sentence in part.task.unseen)):
        if not store.holds:
            raise ValueError(
                f"results may depend on {'; on '.join(unseen[:3])}: give version=… (any text, changed "
                "whenever that changes), by which files are found again"
            )
        shown.note(
            f"results are neither kept nor reused: they may depend on {'; on '.join(unseen[:3])}. "
            "Give version=… (any text, changed whenever that changes) to keep them"
        )
    return [None if part.task.unseen else part.task.key for part in parts]


def _compilations_first(parts: Sequence[Part], missing: Sequence[int]) -> list[tuple[int, Any]]:
    """One part of every program before the second of any, so that no two threads compile the same.

    What takes longest to compile comes first: begun last, it would keep one core busy and the others waiting.
    """
    seen: dict[Any, int] = {}
    efforts: dict[Any, int] = {}
    rounds: list[tuple[int, int, int]] = []
    for i in missing:
        task = parts[i].task
        program = task.program
        if program not in seen:
            seen[program], efforts[program] = 0, task.effort
        rounds.append((seen[program], -efforts[program], i))
        seen[program] += 1
    return [(i, parts[i].task) for *_, i in sorted(rounds)]


def _submit(
    executor: Executor,
    tasks: Sequence[tuple[int, Any]],
    finish: Callable[[int, Arrays], None],
    elsewhere: Callable[[int], bool],
) -> None:
    """A window of tasks in flight, taken by whoever is free; results are kept as they come."""
    waiting = list(reversed(tasks))
    running: dict[Future[Arrays], int] = {}
    processes = not isinstance(executor, ThreadPoolExecutor)  # threads have our own code
    try:
        while waiting or running:
            several = max(IN_FLIGHT, 2 * (workers_of(executor) or 0))
            while waiting and len(running) < several:
                i, task = waiting.pop()
                if elsewhere(i):
                    continue
                running[executor.submit(run_task, task, origin(task) if processes else None)] = i
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                finish(running[future], future.result())
                del running[future]
    except BaseException:
        # What others have finished meanwhile, or are finishing here, is kept.
        begun = [future for future in running if not future.cancel()]
        if isinstance(executor, ThreadPoolExecutor):
            wait(begun)
        for future in begun:
            # A second failure, of the same full disk say, must not hide the first.
            with suppress(Exception):
                if future.done() and not future.cancelled() and future.exception() is None:
                    finish(running[future], future.result())
        raise
