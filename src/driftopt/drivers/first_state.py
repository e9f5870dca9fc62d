"""The state of a method before the first query: by NumPy, where nothing in it is rounded."""

from typing import Any

import jax

from driftopt.drivers import one_kernel
from driftopt.drivers.whole_numbers import unrounded
from driftopt.method import Method


class FirstState:
    """`init` of methods with this structure, traced once."""

    def __init__(self, method: Method, key: Any, x0: Any):
        init = jax.make_jaxpr(lambda method, *begun: method.init(*begun), return_shape=True)
        self._traced, self.shapes = init(method, key, x0)

    def of(self, method: Method, key: Any, x0: Any) -> Any:
        """The state; None where it takes operations that round, which must be XLA's as they are later."""
        found = unrounded(self._traced, jax.tree.leaves((method, key, x0)))
        return None if found is None else jax.tree.unflatten(jax.tree.structure(self.shapes), found)


def first_state(code: str, method: Method, key: Any, x0: Any) -> FirstState:
    """The one for such arguments; traced anew for another `code` behind the method."""
    arguments = (method, key, x0)
    form = one_kernel.form(code, arguments)
    return one_kernel.remembered(_KEPT, form, lambda: FirstState(*arguments))


_KEPT = dict[Any, FirstState]()
