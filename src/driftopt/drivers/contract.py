"""Checks of a problem's and a method's members by shapes alone, which every driver makes first.

Nothing is computed. JAX traces the functions once for each class and shape. An error that JAX would raise
deep inside a compiled loop is raised here, with the name of the member to repair.
"""

import dataclasses
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from driftopt import checks
from driftopt.method import Method
from driftopt.problem import Problem
from driftopt.pytree import check_leaves

# What JAX raises where code needs to know a number that is traced.
NEEDS_A_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def check_shapes(problem: Problem) -> Problem:
    """The problem, if its members have the shapes that drivers rely on."""
    check_leaves(problem)
    name = type(problem).__name__

    def member(called: str) -> Any:
        if callable(found := getattr(problem, called)):
            raise ValueError(f"{name}.{called} is a method: put @property above it")
        return found

    dim = member("dim")
    if not checks.is_whole(dim) or dim < 1:
        raise ValueError(
            f"{name}.dim must be a whole number >= 1, the length of a decision, known from shapes or a "
            f"static field; got {checks.brief(dim)}"
        )
    start = member("x0")
    if not isinstance(start, jax.Array | np.ndarray):
        raise ValueError(f"{name}.x0 must be an array: return jnp.asarray(…); got {checks.brief(start)}")
    if start.shape != (dim,):
        raise ValueError(f"{name}.x0 must have the shape ({dim},), as its dim says; got {start.shape}")
    checks.vector(f"{name}.x0", np.asarray(start))
    if not isinstance(label := member("label"), str):
        raise ValueError(f"{name}.label must be a text, what tables call it; got {checks.brief(label)}")
    _remembered(_problem_shapes, problem, int(problem.dim))
    return problem


def check_points(method: Method, dim: int) -> Method:
    """The method, if its `ask`, `tell` and `recommend` agree with its `points` and with each other.

    Tests check driftopt's own methods.
    """
    # The shape of the problem's ξ, which a method may see, is not known here.
    if not type(method).__module__.startswith("driftopt.") and not method.sees.observes:
        one = jax.tree.map(lambda leaf: np.zeros((), _dtype(leaf)), method)  # a single run's numbers
        _remembered(_method_shapes, one, dim)
    return method


def _remembered(look: Callable[..., None], thing: Any, *more: int) -> None:
    """Look at each structure once: a sweep asks thousands of times."""
    for field in dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ():
        if field.metadata.get("static"):
            try:
                hash(getattr(thing, field.name))
            except TypeError:
                raise ValueError(
                    f"{type(thing).__name__}.{field.name} is static, so it must be hashable: a number, word "
                    "or a tuple of them; an array is a field without static"
                ) from None
    leaves, structure = jax.tree.flatten(thing)
    shapes = tuple(jax.ShapeDtypeStruct(np.shape(leaf), _dtype(leaf)) for leaf in leaves)
    _looked_at(look, structure, shapes, more)


@lru_cache(maxsize=512)
def _looked_at(
    look: Callable[..., None], structure: Any, shapes: tuple[Any, ...], more: tuple[int, ...]
) -> None:
    look(jax.tree.unflatten(structure, shapes), *more)


def _dtype(leaf: Any) -> Any:
    return leaf.dtype if isinstance(leaf, jax.Array | np.ndarray | np.generic) else jnp.result_type(leaf)


def _problem_shapes(problem: Problem, dim: int) -> None:
    name = type(problem).__name__
    x, key = jax.ShapeDtypeStruct((dim,), jnp.float32), jax.eval_shape(lambda: jax.random.key(0))
    with _explained(f"{name}.x0 (or dim)", problem):
        jax.eval_shape(lambda p: p.x0, problem)
    with _explained(f"{name}.draw (or noise and respond)", problem):
        xi = jax.eval_shape(lambda p, k, x: p.respond(p.noise(k), x), problem, key, x)
    with _explained(f"{name}.value", problem):
        value = jax.eval_shape(lambda p, x, xi: p.value(x, xi), problem, x, xi)
    _check_number(f"{name}.value(x, xi)", value)
    with _explained(f"{name}.objective", problem):
        objective = jax.eval_shape(lambda p, x: p.objective(x), problem, x)
    _check_number(f"{name}.objective(x)", objective)
    _check_own_randomness(f"{name}.draw", lambda p, k, x: p.sample(k, x), problem, key, x)


def _check_own_randomness(what: str, function: Callable[..., Any], *given: Any) -> None:
    """Refuse NumPy's or Python's randomness: JAX would draw it while tracing and keep it as a constant."""
    # A function of its own each time: of the same one JAX would remember what it traced.
    one, two = (jax.make_jaxpr(lambda *given: function(*given))(*given) for _ in range(2))
    texts = [re.sub(r" at 0x[0-9a-f]+", "", str(traced.jaxpr)) for traced in (one, two)]
    held = zip(one.consts, two.consts, strict=False)
    if texts[0] != texts[1] or not all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in held):
        raise ValueError(
            f"{what} holds random numbers that are not the key's, but NumPy's or Python's: they would be "
            "drawn once and stay constant; draw with jax.random and the key"
        )


def _check_number(what: str, found: Any) -> None:
    """Refuse anything but one real number."""
    if found is None:
        raise ValueError(f"{what} gives None: it must return a number; is a `return` missing?")
    leaves = jax.tree.leaves(found)
    if jax.tree.structure(found) != jax.tree.structure(0):
        raise ValueError(f"{what} must give one number, got a {type(found).__name__} of {len(leaves)} arrays")
    if found.shape != ():
        raise ValueError(
            f"{what} must give one number, of shape (), got the shape {found.shape}: sum or index it"
        )
    if found.dtype.kind not in "biuf" and found.dtype != jnp.bfloat16:
        raise ValueError(f"{what} must give a real number, got {found.dtype}")


def _method_shapes(method: Method, dim: int) -> None:
    name, count = type(method).__name__, method.points(dim)
    if not checks.is_whole(count) or count < 1:
        raise ValueError(f"{name}.points({dim}) must be a whole number >= 1, got {checks.brief(count)}")
    x, key = jax.ShapeDtypeStruct((dim,), jnp.float32), jax.eval_shape(lambda: jax.random.key(0))
    with _explained(f"{name}.init", method):
        state = jax.eval_shape(lambda m, k, x: m.init(k, x), method, key, x)
    if missing := {"key", "told", "x"} - set(dir(state)):
        lacking = " and ".join(sorted(missing))
        raise ValueError(f"{name}.init must give a state with the fields key, told and x; it lacks {lacking}")
    if jnp.shape(state.x) != (dim,):
        raise ValueError(
            f"{name}.init must give a state whose x is the iterate, of shape ({dim},); "
            f"got {jnp.shape(state.x)}"
        )
    with _explained(f"{name}.noise", method):
        noise = jax.eval_shape(lambda m, k: m.noise(k, jnp.int32(0), dim), method, key)
    with _explained(f"{name}.ask", method):
        points = jax.eval_shape(lambda m, s, n: m.ask(s, n), method, state, noise)
    if jax.tree.structure(points) != jax.tree.structure(0) or points.shape != (count, dim):
        raise ValueError(
            f"{name}.points({dim}) says {count}, so ask must give an array of shape ({count}, {dim}); "
            f"got {points}"
        )
    values = jax.ShapeDtypeStruct((count,), jnp.float32)
    with _explained(f"{name}.tell", method):
        after = jax.eval_shape(lambda m, s, v, n: m.tell(s, v, n), method, state, values, noise)
    _check_same(name, state, after)
    with _explained(f"{name}.recommend", method):
        decision = jax.eval_shape(lambda m, s: m.recommend(s), method, state)
    if jax.tree.structure(decision) != jax.tree.structure(0) or decision.shape != (dim,):
        raise ValueError(f"{name}.recommend must give a decision of shape ({dim},), got {decision}")
    _check_own_randomness(f"{name}.noise", lambda m, k, c: m.noise(k, c, dim), method, key, jnp.int32(0))
    for member, more in {"ask": (noise,), "tell": (values, noise)}.items():
        _check_own_randomness(f"{name}.{member}", getattr(type(method), member), method, state, *more)


def _check_same(name: str, before: Any, after: Any) -> None:
    """Refuse a tell that changes the structure or shapes of a state: a compiled loop carries the state."""
    if jax.tree.structure(before) != jax.tree.structure(after):
        raise ValueError(f"{name}.tell must give a state of the structure that init gives; got {after}")
    one, two = jax.tree_util.tree_flatten_with_path(before)[0], jax.tree.leaves(after)
    for (path, old), new in zip(one, two, strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise ValueError(
                f"{name}.tell changes the state's {jax.tree_util.keystr(path)} from {old.dtype}{old.shape} "
                f"to {new.dtype}{new.shape}: shapes and types must stay"
            )


@contextmanager
def _explained(what: str, thing: Any) -> Generator[None]:
    """A block whose errors about traced values and shapes become sentences."""
    try:
        yield
    except (*NEEDS_A_VALUE, TypeError, IndexError) as error:
        if not isinstance(error, NEEDS_A_VALUE) and "concrete" not in str(error):
            raise ValueError(f"{what} does not fit: {str(error).partition(chr(10))[0]}") from error
        whole = list[str]()  # fields with a single whole number that are not static
        for field in dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ():
            leaf = None if field.metadata.get("static") else getattr(thing, field.name)
            if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.shape == () and leaf.dtype.kind in "iub":
                whole.append(field.name)
        hint = f" {', '.join(whole)} would be one such field." if whole else ""
        raise ValueError(
            f"{what} needs the value of a number that is only known when it runs. A field that sets a shape "
            f"or a branch needs driftopt.pytree.static().{hint} To branch on x, use jnp.where."
        ) from error
