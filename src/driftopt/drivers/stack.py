"""Several instances of one problem as one object, whose every array has a leading axis for them."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from driftopt import checks
from driftopt.drivers.contract import check_shapes
from driftopt.problem import Problem, check_problem
from driftopt.pytree import module, static
from driftopt.runtime.forks import refuse_after_fork


@module
class Stack:
    """Several instances of one problem, as `stack` gives and `simulate_many` takes: not a Problem itself.

    `together` is to be mapped over its first axis, as in `jax.vmap(lambda problem: …)(stack.together)`.
    """

    together: Problem  # every array with a leading axis, one element for each instance
    count: int = static(default=1)  # how many instances

    def __len__(self) -> int:
        return self.count

    def take(self, instances: Sequence[int]) -> "Stack":
        """Some of the instances, in the given order."""
        chosen = jax.tree.map(lambda leaf: leaf[list(instances)], self.together)
        return Stack(chosen, count=len(instances))

    def on_host(self) -> "Stack":
        """The same with NumPy's arrays, which travel to other processes."""
        return Stack(jax.tree.map(np.asarray, self.together), count=self.count)


def stack(problems: Sequence[Problem]) -> Stack:
    """Instances of one kind and shape as one object with a leading instance axis, for `simulate_many`.

    >>> from driftopt.problems import kink
    >>> len(stack([kink(3, rng=1), kink(3, rng=2)]))
    2
    """
    refuse_after_fork()
    if isinstance(problems, Problem | Stack):
        raise ValueError("problems must be a list: stack([problem]), also where there is only one")
    if not isinstance(problems, list | tuple) or not problems:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"problems must be a list of Problems, at least one; got {checks.brief(problems)}")
    if odd := [one for one in problems if not isinstance(one, Problem)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"problems must be a list of Problems; one of them is {checks.brief(odd[0])}")
    for problem in problems:
        check_shapes(check_problem(problem))
    kinds = {(jax.tree.structure(p), str(jax.tree.map(jnp.shape, p))) for p in problems}
    if len(kinds) != 1:
        raise ValueError(f"only problems of one kind and shape can be stacked; got {len(kinds)} kinds")
    return Stack(jax.tree.map(_stacked, *problems), count=len(problems))


def _stacked(*leaves: Any) -> jax.Array:
    """jnp.stack(leaves), by NumPy where that gives the same: JAX would compile a program for every shape."""

    def on_host(leaf: Any) -> bool:
        """Whether NumPy sees the whole array: neither its device nor its type was chosen."""
        if not isinstance(leaf, jax.Array):
            return isinstance(leaf, np.ndarray)
        if isinstance(leaf, Tracer) or jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
            return False
        return jax.default_backend() == "cpu" and not (leaf.committed or leaf.weak_type)

    if all(map(on_host, leaves)) and len({leaf.dtype for leaf in leaves}) == 1:
        return jax.device_put(np.stack([np.asarray(leaf) for leaf in leaves]))
    return jnp.stack(leaves)


def check_stack(problems: Any) -> Stack:
    """The stack itself; a ValueError if it is not one."""
    if isinstance(problems, Stack):
        return problems
    raise ValueError(
        f"problems must come from stack([…]), also where there is only one; got {checks.brief(problems)}"
    )
