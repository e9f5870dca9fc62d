"""The hash of a trace changes with what is computed, and with nothing else."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.runtime.traced_code import trace_hash


def seen(fun, *arguments):
    return trace_hash(jax.make_jaxpr(fun)(*arguments))


X = jnp.arange(4.0)
KEY = jax.random.key(0)
TABLE = np.arange(10.0)


def with_number(n):
    return {
        "literal": lambda x: x + n,
        "constant": lambda x: x + jnp.asarray(np.arange(4.0) + n),
        "tiny difference": lambda x: x * (1 + n * 1e-7),
        "in a jit": lambda x: jax.jit(lambda y: y * n)(x),
        "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + n, x),
        "the loop's length": lambda x: jax.lax.fori_loop(0, n, lambda i, y: y + 1, x),
        "in a scan": lambda x: jax.lax.scan(lambda c, y: (c + y * n, y), 0.0, x)[0],
        "in a branch": lambda x: jax.lax.cond(x[0] > 0, lambda y: y + n, lambda y: y, x),
        "in a custom rule": lambda x: jax.nn.relu(x * n),
        "a gather": lambda x: x[np.array([n % 4, 1])],
        "a slice": lambda x: x[:n],
        "an axis": lambda x: jnp.sum(jnp.outer(x, x + 1), axis=n % 2),
        "a key": lambda x: jax.random.normal(jax.random.fold_in(KEY, n), (3,)),
        "a closed-over key": lambda x: jax.random.normal(jax.random.key(n), (3,)),
        "a table": lambda x: jnp.interp(x, TABLE, TABLE * n),
        "a callback": lambda x: jax.pure_callback(lambda y: np.asarray(y) * n, x, x),
        "a sort": lambda x: jax.lax.sort((x, x + n), num_keys=1 + n % 2),
        "a type": lambda x: x.astype([jnp.float16, jnp.int32][n % 2]),
    }


@pytest.mark.parametrize("kind", with_number(2))
def test_a_change_anywhere_is_seen(kind):
    first, again, other = (seen(with_number(n)[kind], X) for n in (2, 2, 3))
    assert first == again != other
    assert first.unseen == ()


def test_shapes_and_types_count():
    def fun(x):
        return x + 1

    assert seen(fun, X) != seen(fun, X[:3])
    assert seen(fun, X) != seen(fun, X.astype(jnp.int32))


def test_names_do_not_count():
    @jax.jit
    def one(x):
        y = x + 1
        return y * 2

    @jax.jit
    def other(value):
        return (value + 1) * 2

    assert seen(lambda a: one(a), X) == seen(lambda b: other(b), X)


def test_two_orders_of_two_operands_are_two_programs():
    assert seen(lambda x, y: x - y, X, X) != seen(lambda x, y: y - x, X, X)


def test_a_callback_to_what_cannot_be_seen_is_named():
    stream = (i for i in range(3))
    found = seen(lambda x: jax.pure_callback(lambda y: next(stream), X, x), X)
    assert "generator" in found.unseen[0]


SCRIPT = """
import jax, jax.numpy as jnp
from driftopt.runtime.traced_code import trace_hash
fun = lambda x: jax.nn.softplus(jax.random.normal(jax.random.key(1), (3,))).sum() + jnp.linalg.norm(x)
print(trace_hash(jax.make_jaxpr(jax.grad(fun))(jnp.arange(3.0))))
"""


def test_another_process_finds_the_same():
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
