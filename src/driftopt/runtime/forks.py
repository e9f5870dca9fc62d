"""Whether this process was forked from one in which JAX had started: then JAX would wait for ever.

A fork copies memory but no threads, so that whoever waits for one of JAX's threads in the child never wakes.
"""

import os
import sys

_inherited = False  # JAX had started in the process that this one was forked from
_own_client = False  # a client of JAX was started beside those that JAX knows of


class ForkedProcess(RuntimeError):
    """JAX cannot be used here; the message says what to do instead."""


def refuse_after_fork() -> None:
    """Raise ForkedProcess where JAX, started before a fork, would hang."""
    if _inherited:
        raise ForkedProcess(
            "this process was forked after JAX had started, and JAX would wait for ever in it: start others "
            "with multiprocessing.get_context('spawn') (or 'forkserver'), or fork before the first use of "
            "driftopt in the parent"
        )


def note_own_client() -> None:
    """A client of JAX has been started that its list of backends does not have: it too has threads."""
    global _own_client
    _own_client = True


def _in_child() -> None:
    global _inherited
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", None)
    _inherited = _inherited or _own_client or (started is not None and started())


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_in_child)
