"""The small compiled programs of a host: made fast, run in the thread that calls them, called directly.

XLA makes a program a row of kernels, one for each fused operation. For some hundred numbers that is a
detour: each kernel takes a millisecond and more to compile, and handing them to threads takes longer than the
arithmetic. Where every operation is plain and small, a `Program` is compiled otherwise (measured on a tell of
`auto`: compiled in a quarter of the time, and in 100 dimensions run in a fifth):

- XLA emits the whole program as a single kernel, because it is marked as a small call. It is cut into pieces,
  see `traced.in_pieces`.
- The program belongs to a CPU client of its own, which runs it immediately in the calling thread. JAX's own
  client hands every program of more than 1,000 operations to another thread.

Other programs, and all programs under a version of XLA that does not know the mark, compile as usual.

`noise_window` draws random numbers for many iterations together. `called_once` saves JAX's call of a program
and `Views` NumPy's look at its result, for functions that take microseconds.
"""

import ctypes
import math
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from driftopt.drivers.compiler_options import OPTIONS, QUICKER, compiled_with
from driftopt.drivers.traced import SplitProgram, in_pieces
from driftopt.method import Method
from driftopt.runtime import private_jax

T = TypeVar("T")

KEPT = 64  # programs of one kind for other shapes: a service may meet studies of any number of dimensions
LARGEST = 4096  # numbers in an array: XLA gives larger ones to several threads, which one kernel cannot
# The operations that a kernel cannot hold, by StableHLO's names, which do not change with JAX's versions:
# products, factorisations and sorts of libraries, and operations that gather or scatter numbers.
BARRED = frozenset(
    [
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
    ]
)
# Operations that only pass large arrays on.
PASSING = frozenset({"while", "case", "if", "return"})

_PLACING = threading.Lock()
_REMEMBERING = threading.RLock()  # reentrant: a function that is being traced may itself minimise


def place() -> SingleDeviceSharding:
    """The device of such programs: one for all threads, for programs and arrays must agree on it."""
    with _PLACING:
        return _place()


@cache
def _place() -> SingleDeviceSharding:
    return SingleDeviceSharding(private_jax.synchronous_cpu())


def put(tree: Any) -> Any:
    """The arrays of a tree at `place()`."""
    return jax.device_put(tree, place())


def interpreted() -> bool:
    """Whether `jax.disable_jit` asks to see every operation."""
    return jax.config.jax_disable_jit  # pyright: ignore[reportAttributeAccessIssue]


class Program:
    """Like `jax.jit(fun, static_argnums=0)`, for arrays at `place()` or NumPy's own.

    Compiled once for each first argument, which is hashable, and all shapes of the others.
    """

    def __init__(self, fun: Callable[..., Any], as_one: Callable[[Any], bool] = lambda static: True):
        self._fun, self._as_one = fun, as_one  # for which first arguments it may be one kernel
        self._compiled: dict[Any, Future[Any]] = {}

    def __call__(self, static: Any, *arrays: Any) -> Any:
        return self.ready(static, *arrays)(*arrays)

    def ready(self, static: Any, *arrays: Any) -> Callable[..., Any]:
        """The compiled program for such arguments, for callers without time to look for it."""
        if interpreted():
            return jax.enable_x64(True)(partial(self._fun, static))
        try:
            return self._begun(static, arrays).result()
        except BaseException:
            self._compiled.pop(form(static, arrays), None)  # whatever went wrong may go well the next time
            raise

    def prepare(self, static: Any, *arrays: Any) -> None:
        """Begin to compile for arguments like these, in another thread; a call waits for it."""
        if not interpreted():
            self._begun(static, arrays)

    def _begun(self, static: Any, arrays: tuple[Any, ...]) -> Future[Any]:
        mine = Future[Any]()
        found = remembered(self._compiled, form(static, arrays), lambda: mine)
        if found is mine:  # compiled outside the lock of `remembered`
            begin(found, partial(self._fun, static), *arrays, as_one=self._as_one(static))
        return found


def remembered(kept: dict[Any, T], wanted: Any, make: Callable[[], T]) -> T:
    """kept[wanted], made if it is missing; beyond KEPT entries the longest unused one is forgotten."""
    with _REMEMBERING:
        found = kept.pop(wanted) if wanted in kept else make()
        kept[wanted] = found  # the last one now
        while len(kept) > KEPT:
            del kept[next(iter(kept))]
        return found


def form(static: Any, arrays: tuple[Any, ...]) -> Any:
    """The key of a compiled program: its first argument, and the shapes of the others."""
    leaves, structure = jax.tree.flatten(arrays)
    return static, structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)


def begin(promised: Future[Any], fun: Callable[..., Any], *arguments: Any, as_one: bool) -> None:
    """Compile `fun` for arguments of these shapes, in double precision, in another thread, for `promised`.

    This thread traces and lowers it, which is Python's work; the other one runs the compiler.
    """

    def kept(work: Callable[[], T]) -> T | None:
        try:
            with jax.enable_x64(True):
                return work()
        except BaseException as error:  # the callers that wait get it
            promised.set_exception(error)

    def finish(compile_: Callable[[], Any]) -> None:
        if (program := kept(compile_)) is not None:
            promised.set_result(program)

    compile_ = kept(lambda: lowered(fun, *jax.tree.map(shape, arguments), as_one=as_one))
    if compile_ is not None:
        # Not a daemon: one that is stopped within the compiler, as Python ends, takes the process down.
        threading.Thread(target=finish, args=(compile_,)).start()


def shape(leaf: Any) -> Any:
    """The shape of an array at `place()`."""
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place())


def lowered(fun: Callable[..., Any], *shapes: Any, as_one: bool = True) -> Callable[[], Any]:
    """A function that compiles `fun`, which is lowered here, for arguments of these shapes at `place()`."""
    from jax.experimental.xla_metadata import set_xla_metadata

    def as_usual() -> Any:
        return jax.jit(fun).lower(*shapes).compile()

    if not as_one:
        return as_usual
    whole = jax.jit(in_pieces(fun), inline=False)

    def called(*arguments: Any) -> Any:
        # The mark is on the call alone: as a context it would be on every call within, and those that stay
        # calls, each `jnp.where`, are not fused with their surroundings.
        return set_xla_metadata(whole(*arguments), xla_cpu_small_call="true", inlineable="false")

    if not _plain((program := jax.jit(called).lower(*shapes)).as_text()):
        return as_usual

    def compile_() -> Any:
        # A version of XLA that cannot do it compiles it in the usual way.
        with suppress(jax.errors.JaxRuntimeError):
            return compiled_with(program, OPTIONS["cpu"])
        return as_usual()

    return compile_


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


# The random numbers of the next iterations, drawn together: whole numbers by NumPy, the rest by XLA.

BEGUN = 3  # windows after which a run is long enough for its whole numbers to be worth a program
OFTEN = 16  # or windows of short runs: a program that is compiled during a short run makes it wait
_SHAPES, _WINDOWS = dict[Any, Any](), dict[Any, "_NoiseWindow"]()


def draw(dim: int, ahead: int, method: Method, key: Any, first: Any) -> Any:
    """The noise of the iterations first … first + ahead, the last of which is for the query that follows."""
    return jax.vmap(lambda count: method.noise(key, count, dim))(first + jnp.arange(ahead + 1))


def state_and_noise(method: Method, key: Any, x0: Any) -> tuple[Any, Any]:
    """The shapes of a method's state and of one iteration's noise."""

    def first(method: Method, key: Any, x0: Any, count: Any) -> tuple[Any, Any]:
        return method.init(key, x0), method.noise(key, count, len(x0))

    arguments = (method, key, x0, np.int32(0))
    return remembered(_SHAPES, form(None, arguments), lambda: jax.eval_shape(first, *arguments))


def noise_window(method: Method, key: Any, first: Any, dim: int, ahead: int) -> Any:
    """`draw`, traced and compiled once for each structure of a method."""
    arguments, fun = (method, key, first), partial(draw, dim, ahead)
    if interpreted():
        return fun(*arguments)
    window = remembered(
        _WINDOWS, form((dim, ahead), arguments), lambda: _NoiseWindow(SplitProgram(fun, arguments, 2), ahead)
    )
    return window.draw(*arguments)


class _NoiseWindow:
    """The noise of one method's structure, in windows of one length."""

    def __init__(self, split: SplitProgram, ahead: int):
        self._split, self._ahead, self._next = split, ahead, -1
        self._drawn = self._in_a_row = 0  # windows in all, and of the present run
        self._rest: Any = None
        self._whole: Future[Any] | None = None

    def draw(self, method: Method, key: Any, first: Any) -> Any:
        """The noise; its whole numbers by NumPy, until a run is long and the program for them is compiled.

        Whole numbers are exact, so NumPy and the program give the same. The windows of a long run follow one
        another; a study that is opened again begins anywhere.
        """
        self._in_a_row = self._in_a_row + 1 if int(first) == self._next else 1
        self._drawn, self._next = self._drawn + 1, int(first) + self._ahead
        if self._whole is None and (self._in_a_row >= BEGUN or self._drawn >= OFTEN):
            self._whole = Future[Any]()
            begin(self._whole, self._split.whole_compiled, key, first, as_one=False)
        whole: Callable[..., Any] = self._split.whole
        if self._whole is not None and self._whole.done() and self._whole.exception() is None:
            whole = self._whole.result()
        numbers, others = whole(key, first), jax.tree.leaves(method)
        if self._rest is None:
            # The older emitters give the same bits, and take two thirds of the time to compile.
            # Noise that depends on no argument would be left at JAX's own place, and moved in every query.
            program = jax.jit(self._split.rest, out_shardings=place())
            self._rest = compiled_with(program.lower(*map(shape, [*others, *numbers])), QUICKER)
        return jax.tree.unflatten(jax.tree.structure(self._split.shapes), self._rest(*others, *numbers))


# Calls of a compiled program, and looks at its result, without JAX's own steps: those inspect every argument,
# and make NumPy's view of the result each time, which together takes as long as the program itself.


def called_once(program: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The shortest way that works to call a compiled program of arrays at `place()` that gives one array."""
    expected = program(*arguments)
    # A version of JAX without that way raises one of these.
    with suppress(AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        straight = private_jax.straight_call(program, len(arguments))
        # Of an argument elsewhere, which JAX would move first, XLA writes an error to the terminal.
        there = all(argument.devices() == expected.devices() for argument in arguments)
        if straight is not None and there:
            found = straight(*arguments)
            alike = type(found) is type(expected) and found.sharding == expected.sharding
            if alike and np.array_equal(np.asarray(found), np.asarray(expected), equal_nan=True):
                return straight
    return program


class Views:
    """The content of arrays in the memory of a CPU as `look(numbers)` sees it, kept for each address.

    A view is of memory and not of the array: it is valid as long as the array is held, no longer.
    """

    def __init__(self, size: int, look: Callable[[np.ndarray], Any]):
        self._size, self._look, self._kept = size, look, dict[int, Any]()

    def of(self, array: Any) -> Any:
        """The view of an array of `size` numbers of 64 bits, once it is computed."""
        # Nearly always it is. But a program whose arguments are still being made, as a window of noise is by
        # several threads, is left to wait for them when its call returns.
        array.block_until_ready()
        address = array.unsafe_buffer_pointer()
        found = self._kept.get(address)
        if found is None:
            if len(self._kept) >= KEPT:  # an allocator hands out few addresses again and again
                self._kept.clear()
            memory: Any = (ctypes.c_double * self._size).from_address(address)
            numbers = np.frombuffer(memory)
            numbers.flags.writeable = False
            found = self._kept[address] = self._look(numbers)
        return found
