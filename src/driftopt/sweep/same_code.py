"""Whether the process that runs a part has the code of the one that asked for it.

A result is kept under a name made from the asker's code. A worker with an older driftopt, or whose modules
were imported before they were edited, would put its result under the new name; so it compares, and refuses.
"""

import functools
import io
import os
import pickle
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import jax
import numpy as np

from driftopt.runtime.fingerprint import code_version
from driftopt.runtime.forks import refuse_after_fork
from driftopt.runtime.libraries import is_library
from driftopt.runtime.reachable_code import reach
from driftopt.sweep.kept_parts import Arrays
from driftopt.sweep.parts import Task


class OtherCode(RuntimeError):
    """A worker's code is not the asker's; the message says what differs and what to do."""


@dataclass(frozen=True)
class Origin:
    """Who asks, and with what code."""

    process: str  # machine and number
    version: str  # of driftopt, of what it builds on, and of the libraries that the task runs
    code: str  # the hash of what others have written, as far as it goes to a worker by name


class Asker:
    """This process, which hands tasks to others; what it finds of their code holds for one sweep."""

    def __init__(self) -> None:
        self._codes: dict[tuple[Any, ...], str] = {}

    def origin(self, task: Task) -> Origin:
        """What the task would be run with here."""
        named = named_in(task)
        if named not in self._codes:
            self._codes[named] = _code(named)
        return Origin(_process(), _version(task), self._codes[named])


def run_task(task: Task, asked: Origin | None) -> Arrays:
    """What executors call: importable by name on any worker.

    Raises:
        OtherCode: this process would compute something else than was asked for.
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
        if asked.code != _code_of_worker(names := named_in(task)):
            shown = ", ".join(f"{thing.__module__}.{thing.__qualname__}" for thing in names)
            raise OtherCode(
                f"on the worker {_process()}, {shown} or what it uses is not what it is for {asked.process}, "
                "which asked: a file was edited, or a value was set, after one of them had started. Start "
                "the workers again, and give values as arguments rather than by setting globals"
            )
    return task.run()


def _version(task: Task) -> str:
    return " ".join([code_version(), *(f"{name} {version}" for name, version in task.libraries.items())])


def _process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def named_in(task: Task) -> tuple[Any, ...]:
    """The functions and classes of users that a pickle of the task names; others carry their code along."""
    pickler, registered = _Naming(io.BytesIO()), task.by_name
    with suppress(Exception):  # what cannot be pickled this way goes another, or says so itself
        pickler.dump((registered, task))
    return tuple(dict.fromkeys(pickler.named))


class _Naming(pickle.Pickler):
    """Writes down what goes by name, and leaves data out."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.named: list[Any] = []

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, np.ndarray | jax.Array):
            return str, ("numbers",)
        if not isinstance(obj, type | FunctionType) or is_library(obj.__module__):
            return NotImplemented
        if _found(obj):
            self.named.append(obj)
            return NotImplemented
        return str, ("goes by value, if at all",)


def _found(thing: Any) -> bool:
    """Whether its module and name lead to it, in any process."""
    if thing.__module__ in ("__main__", "__mp_main__"):
        return False
    at: Any = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        at = getattr(at, name, None)
    return at is thing


def _code(things: tuple[Any, ...]) -> str:
    return reach(*things).digest if things else ""


@functools.cache
def _code_of_worker(things: tuple[Any, ...]) -> str:
    """Found once in a worker's life: what a run leaves behind in a module is no other code."""
    return _code(things)
