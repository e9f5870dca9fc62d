"""How many workers an executor has, and into how many parts a sweep is cut for them."""

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from driftopt.runtime.hashing import hashed
from driftopt.sweep.kept_parts import Store, writing
from driftopt.sweep.parts import Part, Simulated, Source

PARTS_EACH = 4  # parts a worker: whoever is done first takes the next, and none waits long for the last
# Queries that make a part worth its while: a compiled program's cost a second or two to begin, a Python
# function's nothing.
WORTH, WORTH_OF_A_FUNCTION = 1_000_000, 1_000


def workers_of(executor: Any) -> int | None:
    """The workers that an executor has now; None where it does not say.

    Args:
        executor: of `concurrent.futures`, of Dask (`client.get_executor()`), or any with a number `workers`.

    >>> workers_of(ThreadPoolExecutor(3))
    3
    """
    client = getattr(executor, "_client", None)  # Dask's has no public way to its client
    if client is not None and callable(getattr(client, "nthreads", None)):
        return sum(client.nthreads().values())
    for name in ("workers", "_max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return None


def wanted_parts(parts: Sequence[Part], source: Source, executor: Executor | None) -> int | None:
    """The least number of parts that keeps all workers of a cluster busy; None: the fewest will do.

    Threads share one machine's cores, which one program uses all of: they want the fewest.
    """
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        return None
    worth = WORTH if isinstance(source, Simulated) else WORTH_OF_A_FUNCTION
    wanted = min(PARTS_EACH * (workers_of(executor) or 0), sum(part.queries for part in parts) // worth)
    return wanted if wanted > len(parts) else None


def kept_division(parts: Sequence[Part], wanted: int | None, store: Store, *, fresh: bool) -> int | None:
    """The number of parts that this sweep was cut into when it began in the store's folder; else `wanted`.

    So a sweep that goes on with other workers, or by another scheduler, finds its parts.

    Args:
        parts: the fewest, which say what sweep it is.
        wanted: for the workers that are there now.
        store: where parts are kept.
        fresh: whether what the folder holds is left aside.
    """
    place = store.place
    if place is None or (
        wanted is None and not any(name.endswith(".division") for name in place.names("parts"))
    ):
        return wanted
    file = f"parts/{hashed(*(part.task.key for part in parts)).hex()[:32]}.division"
    if place.has(file) and not fresh:
        text = place.read(file).decode(errors="replace").strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
    if wanted is not None:
        with writing(place.name):
            place.write(file, f"{wanted}\n".encode())
    return wanted
