"""The random numbers of a method's next iterations, drawn many at once: whole numbers by NumPy, then XLA."""

from concurrent.futures import Future
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt.drivers import one_kernel
from driftopt.drivers.compiler_options import QUICKER, compiled_with
from driftopt.drivers.whole_numbers import SplitProgram
from driftopt.method import Method


def draw(method: Method, key: Any, first: Any, dim: int, ahead: int) -> Any:
    """The noise of iterations first … first + ahead: one more than is told, for the query that follows."""
    return jax.vmap(lambda told: method.noise(key, told, dim))(first + jnp.arange(ahead + 1))


BEGUN = 3  # windows after which a run is long enough for its whole numbers to be worth a program
OFTEN = 16  # or windows of short runs: a program that is made beside a short run makes it wait


class _NoiseWindow:
    """The noise of one method's structure, in windows of one length."""

    def __init__(self, traced: Any, shapes: Any, ahead: int):
        self._structure, self._split = jax.tree.structure(shapes), SplitProgram(traced, given=2)
        self._ahead, self._next = ahead, -1
        self._drawn = self._in_a_row = 0  # windows in all, and of the run that goes on
        self._rest: Any = None
        self._whole: Future[Any] | None = None

    def draw(self, method: Method, key: Any, first: Any) -> Any:
        whole, others = self._whole_numbers(key, first), jax.tree.leaves(method)
        if self._rest is None:
            # The older emitters give the same bits, and take two thirds of the time to compile.
            # Noise that depends on no argument would be left at JAX's own place, and moved in every query.
            program = jax.jit(self._split.rest, out_shardings=one_kernel.place())
            lowered = program.lower(*map(one_kernel.shape, [*others, *whole]))
            self._rest = compiled_with(lowered, QUICKER)
        return jax.tree.unflatten(self._structure, self._rest(*others, *whole))

    def _whole_numbers(self, key: Any, first: Any) -> Any:
        """By NumPy, until the program for them is there, which begins to be made once a run is long.

        The windows of a long run follow one another; a study that is taken up again begins anywhere.

        They are exact, so that it does not matter to any number who computes them.
        """
        if self._whole is not None and self._whole.done() and self._whole.exception() is None:
            return self._whole.result()(key, first)
        self._in_a_row = self._in_a_row + 1 if int(first) == self._next else 1
        self._drawn, self._next = self._drawn + 1, int(first) + self._ahead
        if self._whole is None and (self._in_a_row >= BEGUN or self._drawn >= OFTEN):
            self._whole = one_kernel.promise(self._split.whole_compiled, key, first, as_one=False)
        return self._split.whole(key, first)


class Drawing:
    """`draw`, traced and compiled once for each structure of a method."""

    def __init__(self) -> None:
        self._windows, self._rows = dict[Any, _NoiseWindow](), dict[Any, Any]()

    def row(self, method: Method, key: Any, dim: int) -> Any:
        """The shapes of one iteration's noise."""
        form = one_kernel.form(dim, (method, key))
        noise = partial(jax.eval_shape, lambda method, key, told: method.noise(key, told, dim))
        return one_kernel.remembered(self._rows, form, partial(noise, method, key, np.int32(0)))

    def __call__(self, method: Method, key: Any, first: Any, dim: int, ahead: int) -> Any:
        if jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]
            return draw(method, key, first, dim, ahead)
        return self._window(method, key, first, dim, ahead).draw(method, key, first)

    def _window(self, method: Method, key: Any, first: Any, dim: int, ahead: int) -> _NoiseWindow:
        arguments = (method, key, first)
        form = one_kernel.form((dim, ahead), arguments)

        def begun() -> _NoiseWindow:
            program = jax.make_jaxpr(draw, static_argnums=(3, 4), return_shape=True)
            return _NoiseWindow(*program(*arguments, dim, ahead), ahead)

        return one_kernel.remembered(self._windows, form, begun)


DRAWING = Drawing()
