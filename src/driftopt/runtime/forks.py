"""A refusal of processes that were forked after JAX had started, in which JAX would hang.

A fork copies memory but no threads, so a child that waits for one of JAX's threads never wakes.
"""

import os

from driftopt.runtime.private_jax import backends_started

_inherited = False  # JAX had started in the process that this one was forked from


class ForkedProcess(RuntimeError):
    """JAX cannot be used here; the message says what to do instead."""


def refuse_after_fork() -> None:
    """Raise ForkedProcess where JAX, started before a fork, would hang."""
    if _inherited:
        raise ForkedProcess(
            "this process was forked after JAX had started, and JAX would never return in it: start others "
            "with multiprocessing.get_context('spawn') (or 'forkserver'), or fork before the first use of "
            "driftopt in the parent"
        )


def _in_child() -> None:
    global _inherited
    _inherited = _inherited or backends_started()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_in_child)
