"""Modules as JAX sees them: classes that look alike are never one structure, or programs get mixed up."""

import dataclasses
from itertools import combinations

import jax
import jax.numpy as jnp
import pytest

from driftopt import methods, problems
from driftopt.methods import estimators
from driftopt.pytree import module, static


def kinds_below(*roots):
    """The classes below these that can be made without arguments."""
    found = [kind for root in roots for kind in root.__subclasses__()]
    return found + (kinds_below(*found) if found else [])


def look_alikes(decorated, count=200):
    """As many classes of one static field and nothing else, each of which knows its number."""

    def alike(number):
        kind = type(f"Alike{number}", (), {"__annotations__": {"size": int}, "size": static(default=1)})
        kind.number = number
        return decorated(kind)

    return [alike(number) for number in range(count)]


def mixed_up(kinds):
    """How many of the classes get the program of another one from one jitted function."""
    numbered = jax.jit(lambda thing: jnp.float32(thing.number))
    return sum(float(numbered(kind())) != number for number, kind in enumerate(kinds))


def test_no_class_gets_the_program_of_another_that_looks_like_it():
    assert mixed_up(look_alikes(module)) == 0


def test_registered_as_jax_does_it_some_would():
    kinds = look_alikes(
        lambda kind: jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(kind))
    )
    if jax.tree.structure(kinds[0]()) != jax.tree.structure(kinds[1]()):
        pytest.skip("this version of JAX tells the structures of such classes apart")
    assert mixed_up(kinds) > 0


def test_the_structures_of_all_methods_problems_and_their_parts_differ():
    made = [methods.get(name, **methods.entry(name).example) for name in methods.names()]
    made += [problems.get(name) for name in ("kink", "location-shift", "two-wells")]
    made += [kind() for kind in kinds_below(estimators.Estimator) if kind.__module__.startswith("driftopt")]
    assert {type(one).__name__ for one in made} >= {"OnePoint", "Residual", "Walk"}
    for one, other in combinations(made, 2):
        same = jax.tree.structure(one) == jax.tree.structure(other)
        assert same == (
            type(one) is type(other) and str(jax.tree.structure(one)) == str(jax.tree.structure(other))
        )


def test_a_field_that_jax_would_lose_is_refused():
    class Derived:
        size: int = static(default=1)
        twice: int = dataclasses.field(init=False, default=2)

    with pytest.raises(TypeError, match=r"Derived\.twice is a field with init=False"):
        module(Derived)


@module
class Pair:
    first: jax.Array
    size: int = static(default=2)
    second: float = 3.0


def test_a_module_survives_flattening_and_says_which_number_is_which():
    given = Pair(jnp.arange(2.0), size=5)
    leaves, structure = jax.tree.flatten(given)
    assert [float(jnp.sum(leaf)) for leaf in leaves] == [1.0, 3.0]
    again = jax.tree.unflatten(structure, leaves)
    assert (type(again), again.size, again.second) == (Pair, 5, 3.0)
    named, _ = jax.tree_util.tree_flatten_with_path(given)
    assert [jax.tree_util.keystr(path) for path, _ in named] == [".first", ".second"]
    assert jax.tree.structure(given) != jax.tree.structure(Pair(jnp.arange(2.0), size=6))
