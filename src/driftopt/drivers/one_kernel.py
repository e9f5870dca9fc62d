"""A program of few small numbers as one kernel, run in the thread that calls it.

XLA makes a program a row of kernels, one for each fused operation. For some hundred numbers that is a
detour: each kernel takes a millisecond and more to compile, and handing them to threads takes longer than the
arithmetic. Where every operation is plain and small, two things help (measured on a tell of `auto`: compiled
in a quarter of the time, and in 100 dimensions run in a fifth):

- the whole program is marked as a small call, which XLA emits as a single kernel;
- it lives on a CPU client of its own that runs what it is given at once, in the calling thread. JAX's own
  hands every program of more than 1,000 operations to another thread.

Both are ways of compiling: what is not plain, or not known to the installed version, compiles as always.
"""

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cache
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from driftopt.drivers.compiler_options import options

LARGEST = 4096  # numbers in an array: XLA gives larger ones to several threads, which one kernel cannot
# What the compiler emits within one kernel: no library's products, sorts or factorisations.
PLAIN = frozenset(
    """
    abs add and atan2 bitcast_convert_type broadcast_in_dim ceil clamp concatenate cond
    convert_element_type copy cos cumsum custom_jvp_call div dynamic_slice dynamic_update_slice eq erf
    erf_inv exp expm1 floor ge gt integer_pow iota is_finite jit le log log1p logistic lt max min mul ne
    neg not or pjit pow random_seed random_wrap reduce_and reduce_max reduce_min reduce_or reduce_sum
    rem reshape rev round rsqrt scan select_n shift_left shift_right_arithmetic shift_right_logical sign
    sin slice split sqrt square squeeze stack stop_gradient sub tan tanh transpose while xor
    """.split()  # noqa: SIM905, a list of words is read more easily
)


@cache
def place() -> SingleDeviceSharding:
    """Where such programs run: a CPU client that does what it is given at once, or else JAX's own."""
    try:
        from jaxlib import xla_client

        device = xla_client.make_cpu_client(asynchronous=False).local_devices()[0]
    except (ImportError, AttributeError, TypeError, RuntimeError):
        device = jax.local_devices(backend="cpu")[0]
    return SingleDeviceSharding(device)


def put(tree: Any) -> Any:
    """The arrays of a tree at `place()`."""
    return jax.device_put(tree, place())


class Program:
    """Like `jax.jit(fun)`, for arguments at `place()` or NumPy's own: compiled once for all their shapes."""

    def __init__(self, fun: Callable[..., Any]):
        self._fun = fun
        self._compiled: dict[Any, Future[Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        if jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
            return self._fun(*arguments)
        return self._promise(arguments).result()(*arguments)

    def prepare(self, *arguments: Any) -> None:
        """Begin to compile for arguments of these shapes; a call waits for it."""
        if not jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
            self._promise(arguments)

    def forget(self) -> None:
        """Give the memory of all compiled programs back."""
        self._compiled.clear()

    def _promise(self, arguments: tuple[Any, ...]) -> Future[Any]:
        leaves, structure = jax.tree.flatten(arguments)
        form = (structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
        if form not in self._compiled:
            self._compiled[form] = promise(self._fun, *arguments)
        return self._compiled[form]


def promise(fun: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """`fun` compiled for arguments of these shapes, in double precision, in another thread."""
    promised = Future[Any]()

    def shape(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place())

    def fulfil() -> None:
        try:
            with jax.enable_x64(True):
                promised.set_result(compiled(fun, *jax.tree.map(shape, arguments)))
        except BaseException as error:  # whoever waits gets it
            promised.set_exception(error)

    threading.Thread(target=fulfil, daemon=True).start()
    return promised


def compiled(fun: Callable[..., Any], *shapes: Any) -> Any:
    """The compiled program of `fun` for arguments of these shapes, all of them at `place()`."""
    traced = _as_one(fun).trace(*shapes)
    if _plain(traced.jaxpr.jaxpr):
        try:
            return traced.lower().compile(compiler_options=options("cpu", quick=False))
        except jax.errors.JaxRuntimeError:
            pass  # a version of XLA that cannot: the usual way
    return jax.jit(fun).lower(*shapes).compile()


def _as_one(fun: Callable[..., Any]) -> Any:
    from jax.experimental.xla_metadata import set_xla_metadata

    whole = jax.jit(fun, inline=False)

    def called(*arguments: Any) -> Any:
        with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
            return whole(*arguments)

    return jax.jit(called)


def _plain(jaxpr: Any) -> bool:
    """Whether all operations are among PLAIN, and no array is larger than LARGEST."""
    for equation in jaxpr.eqns:
        if equation.primitive.name not in PLAIN:
            return False
        if any(math.prod(getattr(each.aval, "shape", ())) > LARGEST for each in equation.outvars):
            return False
        if not all(_plain(inner) for inner in _inner(equation.params)):
            return False
    return True


def _inner(params: dict[str, Any]) -> Iterator[Any]:
    """The programs within an operation: a loop's body, the branches of a condition."""
    for value in params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(each, "jaxpr", each)
            if hasattr(inner, "eqns"):
                yield inner
