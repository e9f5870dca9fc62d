"""Programs traced and lowered by processes beside this one, so that the compiler need not wait for Python.

To trace a program and to lower it is Python's work, of which a process does one at a time: a third of a
second each, and a sweep on an accelerator needs dozens. So where there are cores for it, a thread that finds
another one tracing asks a process. What comes back is StableHLO for this process's accelerator, which gives
the same bits as what would have been lowered here. Whatever goes wrong there, it is lowered here after all.

A library must not start processes unasked: only the commands and benchmarks allow them.
"""

import dataclasses
import signal
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
from jax import export

from driftopt.runtime import device_kind, fingerprint

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

ENOUGH = 4  # cores: with fewer the compiler needs them all

_cores = 0


def allow(cores: int) -> None:
    """Let processes be started from now on, so many that they and this one have a core each."""
    global _cores
    _cores = cores


def useful() -> bool:
    """Whether a process may be asked here: on CPUs compiled programs are kept, and seldom made."""
    return _cores >= ENOUGH and device_kind.kind() != "cpu"


def lowered(program: Callable[[str], Any], arguments: Any, plan: Any, settings: dict[str, Any]) -> Any:
    """program("") for these arguments and this plan, ready to be compiled, or None where a process failed.

    Args:
        program: gives the jitted function; importable by name, like all classes within the arguments.
        arguments: arrays and modules, of which shapes alone are looked at.
        plan: static.
        settings: JAX's, by name, as they are in this thread.
    """
    leaves, structure = jax.tree.flatten(arguments)
    shapes = jax.tree.unflatten(structure, [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves])
    asked = (device_kind.kind(), export.default_export_platform(), settings, program, shapes, plan)
    try:
        version, written = _processes().submit(_written_down, *asked).result()
        if version != fingerprint.code_version():  # files were edited since this process loaded them
            return None
        whole = jax.jit(lambda *given: written.call(*jax.tree.leaves(given)))
        return whole.lower(*arguments)
    except Exception:  # a process that died, a JAX that has moved something: it is lowered here
        return None


@cache
def _processes() -> "ProcessPoolExecutor":
    """Started one by one as they are needed; they end with this process."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    return ProcessPoolExecutor(_cores - 1, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    """Leave the accelerator and interruptions to the process that asks."""
    jax.config.update("jax_platforms", "cpu")
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _written_down(
    kind: str,
    target: str,
    settings: dict[str, Any],
    program: Callable[[str], Any],
    shapes: Any,
    plan: Any,
) -> tuple[str, Any]:
    """What a process does: the code's version here, and the program without the part that no pickle takes."""
    device_kind.make_for(kind)
    for name, value in settings.items():
        jax.config.update(name, value)
    leaves, structure = jax.tree.flatten(shapes)

    @jax.jit
    def flat(*given: Any) -> Any:
        return program("").__wrapped__(*jax.tree.unflatten(structure, given), plan)

    written = export.export(flat, platforms=[target])(*leaves)
    return fingerprint.code_version(), dataclasses.replace(written, _get_vjp=None)
