"""A program of few small numbers as one kernel, run in the thread that calls it.

XLA makes a program a row of kernels, one for each fused operation. For some hundred numbers that is a
detour: each kernel takes a millisecond and more to compile, and handing them to threads takes longer than the
arithmetic. Where every operation is plain and small, two things help (measured on a tell of `auto`: compiled
in a quarter of the time, and in 100 dimensions run in a fifth):

- the whole program is marked as a small call, which XLA emits as a single kernel, in pieces (`pieces.py`);
- it lives on a CPU client of its own that runs what it is given at once, in the calling thread. JAX's own
  hands every program of more than 1,000 operations to another thread.

Both are ways of compiling: what is not plain, or not known to the installed version, compiles as always.
"""

import math
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import jax
from jax.sharding import SingleDeviceSharding

from driftopt.drivers.compiler_options import OPTIONS, compiled_with
from driftopt.drivers.pieces import in_pieces
from driftopt.runtime import private_jax

T = TypeVar("T")

KEPT = 64  # programs of one kind for other shapes: a service may meet studies of any number of dimensions
LARGEST = 4096  # numbers in an array: XLA gives larger ones to several threads, which one kernel cannot
# What a kernel cannot hold, by the names of StableHLO, which do not change with JAX's versions: libraries'
# products, factorisations and sorts, and what reaches for numbers here and there.
BARRED = frozenset(
    {
        "cholesky",
        "convolution",
        "custom_call",
        "dot",
        "dot_general",
        "dynamic_gather",
        "fft",
        "gather",
        "reduce_window",
        "rng_bit_generator",
        "scatter",
        "select_and_scatter",
        "sort",
        "triangular_solve",
    }
)
# Operations that only pass large arrays on.
PASSING = frozenset({"while", "case", "if", "return"})


def place() -> SingleDeviceSharding:
    """Where such programs run: one place for all threads, for programs and arrays must agree on it."""
    with _PLACING:
        return _place()


_PLACING = threading.Lock()


@cache
def _place() -> SingleDeviceSharding:
    return SingleDeviceSharding(private_jax.synchronous_cpu())


def put(tree: Any) -> Any:
    """The arrays of a tree at `place()`."""
    return jax.device_put(tree, place())


class Program:
    """Like `jax.jit(fun, static_argnums=0)`, for arrays at `place()` or NumPy's own.

    Compiled once for each first argument, which is hashable, and all shapes of the others.
    """

    def __init__(self, fun: Callable[..., Any], as_one: Callable[[Any], bool] = lambda static: True):
        self._fun, self._as_one = fun, as_one  # for which first arguments it may be one kernel
        self._compiled: dict[Any, Future[Any]] = {}
        self._shapes: dict[Any, Any] = {}

    def __call__(self, static: Any, *arrays: Any) -> Any:
        return self.ready(static, *arrays)(*arrays)

    def ready(self, static: Any, *arrays: Any) -> Callable[..., Any]:
        """What is compiled for such arguments, for calls that cannot afford to look for it."""
        if jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
            return partial(self._fun, static)
        wanted = form(static, arrays)
        try:
            return self._promise(wanted, static, arrays).result()
        except BaseException:
            self._compiled.pop(wanted, None)  # whatever went wrong may go well the next time
            raise

    def prepare(self, static: Any, *arrays: Any, at_once: bool = False) -> None:
        """Begin to compile for arguments like these, in another thread; a call waits for it.

        `at_once`: this thread traces and lowers it, which is Python's work and would be slower beside other
        such work; the other one has what is the compiler's.
        """
        if not jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
            self._promise(form(static, arrays), static, arrays, at_once)

    def shapes(self, static: Any, *arrays: Any) -> Any:
        """The shapes of what comes out for such arguments: nothing is compiled for them."""
        compute = partial(jax.eval_shape, partial(self._fun, static), *arrays)
        return remembered(self._shapes, form(static, arrays), compute)

    def forget(self) -> None:
        """Give the memory of all compiled programs back."""
        self._compiled.clear()
        self._shapes.clear()

    def _promise(
        self, wanted: Any, static: Any, arrays: tuple[Any, ...], at_once: bool = False
    ) -> Future[Any]:
        begun = list[Future[Any]]()

        def begin() -> Future[Any]:
            begun.append(Future())
            return begun[0]

        promised = remembered(self._compiled, wanted, begin)
        if begun:  # out of the lock of all that is remembered
            fulfil(
                promised, partial(self._fun, static), *arrays, as_one=self._as_one(static), at_once=at_once
            )
        return promised


def remembered(kept: dict[Any, T], wanted: Any, make: Callable[[], T]) -> T:
    """kept[wanted], made where it is missing; of more than KEPT the one used longest ago is forgotten."""
    with _REMEMBERING:
        found = kept.pop(wanted) if wanted in kept else make()
        kept[wanted] = found  # the last one now
        while len(kept) > KEPT:
            del kept[next(iter(kept))]
        return found


_REMEMBERING = threading.RLock()  # not a plain one: what is traced may itself minimise


def form(static: Any, arrays: tuple[Any, ...]) -> Any:
    """What a compiled program depends on: the first argument, and the shapes of the others."""
    leaves, structure = jax.tree.flatten(arrays)
    return static, structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)


def shape(leaf: Any) -> Any:
    """The shape of an array at `place()`."""
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place())


def promise(fun: Callable[..., Any], *arguments: Any, as_one: bool = True) -> Future[Any]:
    """`fun` compiled for arguments of these shapes, in double precision, in another thread."""
    promised = Future[Any]()
    fulfil(promised, fun, *arguments, as_one=as_one)
    return promised


def fulfil(
    promised: Future[Any], fun: Callable[..., Any], *arguments: Any, as_one: bool, at_once: bool = False
) -> None:
    """Keep a promise of `fun` compiled in another thread; `at_once`, this one lowers it before."""

    def attempt(work: Callable[[], T]) -> T | None:
        try:
            with jax.enable_x64(True):
                return work()
        except BaseException as error:  # whoever waits gets it
            promised.set_exception(error)

    def lower() -> Callable[[], Any]:
        return lowered(fun, *jax.tree.map(shape, arguments), as_one=as_one)

    def finish(compile_: Callable[[], Any]) -> None:
        if (program := attempt(compile_)) is not None:
            promised.set_result(program)

    # Not a daemon: one that is stopped within the compiler, as the interpreter ends, takes the process down.
    if not at_once:
        threading.Thread(target=finish, args=(lambda: lower()(),)).start()
    elif (compile_ := attempt(lower)) is not None:
        threading.Thread(target=finish, args=(compile_,)).start()


def compiled(fun: Callable[..., Any], *shapes: Any, as_one: bool = True) -> Any:
    """The compiled program of `fun` for arguments of these shapes, all of them at `place()`."""
    return lowered(fun, *shapes, as_one=as_one)()


def lowered(fun: Callable[..., Any], *shapes: Any, as_one: bool = True) -> Callable[[], Any]:
    """The same but for the compiler's part, which is left to a call of what comes back."""

    def as_always() -> Any:
        return jax.jit(fun).lower(*shapes).compile()

    if not as_one or not _plain((program := _as_one(fun).lower(*shapes)).as_text()):
        return as_always

    def compile_() -> Any:
        # A version of XLA that cannot do it compiles it in the usual way.
        with suppress(jax.errors.JaxRuntimeError):
            return compiled_with(program, OPTIONS["cpu"])
        return as_always()

    return compile_


def _as_one(fun: Callable[..., Any]) -> Any:
    from jax.experimental.xla_metadata import set_xla_metadata

    whole = jax.jit(in_pieces(fun), inline=False)

    def called(*arguments: Any) -> Any:
        # The mark is on the call alone: as a context it would be on every call within, and those that stay
        # calls, each `jnp.where`, are not fused with what surrounds them.
        return set_xla_metadata(whole(*arguments), xla_cpu_small_call="true", inlineable="false")

    return jax.jit(called)


def _plain(program: str) -> bool:
    """Whether no operation is BARRED, and none makes an array larger than LARGEST."""
    for line in program.splitlines():
        names = set(re.findall(r"stablehlo\.(\w+)", line))
        if names & BARRED:
            return False
        shapes = re.findall(r"tensor<([\dx]+)x\w+>", line.rpartition(" -> ")[2])
        if names - PASSING and any(math.prod(map(int, shape.split("x"))) > LARGEST for shape in shapes):
            return False
    return True
