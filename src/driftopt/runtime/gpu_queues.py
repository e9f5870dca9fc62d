"""Several queues of work on one GPU, so that programs which are wanted at the same time run side by side.

JAX has one queue for each GPU: what several threads hand to it runs one after the other. A step of thousands
of runs is a few kernels of some microseconds, too small to fill the GPU, so two such programs side by side
take hardly longer than one. Every client of JAX has a queue of its own, and a process may have several
clients of one GPU. The compiler does not know of it: the same program, the same bits.

A program that fails in a further queue, for want of memory say, is run again where JAX would have run it.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any, TypeVar

import jax

T = TypeVar("T")

COUNT = 8  # queues, JAX's own among them: as many as one of the paper's experiments has programs
# The part of a GPU's memory that a further queue may take, as it needs it. JAX's own client takes three
# quarters for itself, at once, unless it is told otherwise.
MEMORY = 0.2
# Settings by which somebody says where or how programs run.
OWN_WISHES = ("jax_default_device", "jax_disable_jit")
# Variables by which somebody says how much memory JAX may take: further clients would take more.
MEMORY_WISHES = (
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
)


class Queues:
    """Which of several devices or clients each program runs on.

    A program stays in its queue, because it would be compiled anew for another.
    """

    def __init__(self, places: Callable[[], Sequence[Any]]):
        self._places = places  # the devices to choose from, JAX's own first
        self._lock = threading.Lock()
        self._running = 0
        self._chosen: dict[Hashable, int] = {}
        self._efforts: dict[Hashable, Counter[int]] = {}

    def run(
        self,
        call: Callable[[Any], T],
        arguments: Any,
        *,
        program: Hashable,
        company: Hashable,
        effort: int,
    ) -> T:
        """call(arguments), with the arguments put where the program runs.

        Args:
            call: runs the program on arrays, wherever they are.
            arguments: arrays of NumPy.
            program: tells this program from others.
            company: what programs that are wanted at the same time have in common.
            effort: how long the program takes, compared with its company.
        """
        if any(getattr(jax.config, name, None) for name in OWN_WISHES):
            return call(arguments)
        with self._lock:
            self._running += 1
        try:
            place = self._place(program, company, effort)
            if place is None:
                return call(arguments)
            try:
                # Where memory is short is known when the result is there.
                return jax.block_until_ready(call(jax.device_put(arguments, place)))
            except jax.errors.JaxRuntimeError:
                with self._lock:
                    self._chosen[program] = 0
            return call(arguments)
        finally:
            with self._lock:
                self._running -= 1

    def _place(self, program: Hashable, company: Hashable, effort: int) -> Any:
        """The device of a further queue; None: JAX's own."""
        with self._lock:
            if program not in self._chosen:
                # Who is alone needs no other queue.
                count = len(self._places()) if self._running > 1 else 1
                efforts = self._efforts.setdefault(company, Counter())
                self._chosen[program] = min(range(count), key=lambda queue: efforts[queue])
                efforts[self._chosen[program]] += effort
            return self._places()[self._chosen[program]] if self._chosen[program] else None


@cache
def _places() -> tuple[Any, ...]:
    """JAX's own device and those of further clients; its own alone where these cannot be had."""
    own = jax.local_devices()
    if jax.default_backend() != "gpu" or len(own) != 1 or jax.process_count() != 1:
        return tuple(own[:1])
    if any(name in os.environ for name in MEMORY_WISHES):
        return tuple(own)
    further = list[Any]()
    try:
        from jaxlib import xla_client

        options = {
            **xla_client.generate_pjrt_gpu_plugin_options(),
            "preallocate": False,
            "memory_fraction": MEMORY,
        }
        for _ in range(COUNT - 1):
            (device,) = xla_client.make_c_api_client("cuda", options).local_devices()
            further.append(device)
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
        pass  # another version of JAX, another make of GPU, or devices that JAX was told not to see
    return (own[0], *further)


QUEUES = Queues(_places)
