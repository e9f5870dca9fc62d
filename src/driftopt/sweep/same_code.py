"""Whether the process that runs a part has the code of the one that asked for it.

A result is kept under a name made from the asker's code. A worker with an older driftopt, or whose modules
were imported before they were edited, would put its result under the new name; so it compares, and refuses.
"""

import os
import socket
from dataclasses import dataclass

from driftopt.runtime.fingerprint import code_version
from driftopt.runtime.forks import refuse_after_fork
from driftopt.runtime.identity import own_files
from driftopt.sweep.task import Arrays, Task

SCRIPTS = ("__main__", "__mp_main__")  # each process has its own


class OtherCode(RuntimeError):
    """A worker's code is not the asker's; the message says what differs and what to do."""


@dataclass(frozen=True)
class Origin:
    """Who asks, and with what code."""

    process: str  # machine and number
    version: str  # of driftopt, of what it builds on, and of the libraries that the task runs
    files: dict[str, str]  # the hash of each source file of the user's own, by module


def origin(task: Task) -> Origin:
    """What the task would be run with here."""
    files = {name: file.digest for name, file in own_files().items() if name not in SCRIPTS}
    return Origin(_process(), _version(task), files)


def run_task(task: Task, asked: Origin | None) -> Arrays:
    """The task's arrays. What executors call: importable by name on any worker.

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
        for name, file in own_files().items():
            if name in asked.files and (file.edited or file.digest != asked.files[name]):
                raise OtherCode(
                    f"the worker {_process()} may not have the {name} of {asked.process}, which asked: "
                    f"{file.path} differs, or was edited after the worker began. Start the workers again"
                )
    return task.run()


def _version(task: Task) -> str:
    return " ".join([code_version(), *(f"{name} {version}" for name, version in task.libraries.items())])


def _process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
