"""Small programs as one kernel: which are taken, and that the numbers are the usual ones."""

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.drivers import small_program


def shapes(*arrays):
    return [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=small_program.place()) for a in arrays]


def here(*arrays):
    return [jax.device_put(a, small_program.place()) for a in arrays]


def kernels(program):
    """Whether the compiled program still calls one function instead of having its operations spread out.

    By the one of the two marks that is ours alone: XLA makes small calls of its own out of short loops.
    """
    return 'inlineable="false"' in program.as_text() and " call(" in program.as_text()


def loops(x):
    return jax.lax.fori_loop(0, 5, lambda i, y: jnp.sin(y) + i * jnp.flip(y), x)


def chooses(x):
    return jax.lax.cond(x[0] > 0, lambda y: y * 2, lambda y: -y, x).cumsum()


def scans(x):
    return jax.lax.scan(lambda total, each: (total + each, total), jnp.zeros_like(x[0]), x)[1]


@pytest.mark.parametrize("fun", [loops, chooses, scans, lambda x: (x**3).sum() / jnp.sqrt(x @ x + 1)])
@pytest.mark.parametrize("size", [3, 50])
def test_the_numbers_are_the_usual_ones(fun, size):
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    program = small_program.lowered(fun, *shapes(x))()
    np.testing.assert_allclose(program(*here(x)), jax.jit(fun)(x), rtol=1e-5, atol=1e-5)


def test_plain_and_small_programs_are_one_kernel_and_others_are_not():
    small, large = np.ones(20, np.float32), np.ones(small_program.LARGEST + 1, np.float32)
    assert kernels(small_program.lowered(loops, *shapes(small))())
    assert not kernels(small_program.lowered(loops, *shapes(large))())
    assert not kernels(small_program.lowered(jnp.sort, *shapes(small))())
    # Also where the operation that is not plain is within a loop.
    nested = lambda x: jax.lax.fori_loop(0, 3, lambda _, y: jnp.sort(y) * 2, x)  # noqa: E731
    assert not kernels(small_program.lowered(nested, *shapes(small))())


def test_a_version_that_cannot_compile_it_so_compiles_it_as_always(monkeypatch):
    def refuse(*_):
        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: a small call")

    monkeypatch.setattr(small_program, "compiled_with", refuse)
    x = np.ones(4, np.float32)
    program = small_program.lowered(loops, *shapes(x))()
    assert not kernels(program)
    np.testing.assert_allclose(program(*here(x)), jax.jit(loops)(x), rtol=1e-5)


def test_without_a_client_of_its_own_the_usual_one_serves(monkeypatch):
    from jaxlib import xla_client

    monkeypatch.delattr(xla_client, "make_cpu_client")
    # What is kept stays: programs were compiled for it.
    assert small_program._place.__wrapped__().device_set == {jax.local_devices(backend="cpu")[0]}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_fails_at_once_fails_for_whoever_waits_and_is_tried_again(error):
    trials = []

    @small_program.Program
    def doubled(factor, x):
        trials.append(factor)
        if len(trials) == 1:
            raise error("just now")
        return factor * x

    with jax.enable_x64(True):
        doubled.prepare(2, np.arange(3.0))
        with pytest.raises(error, match="just now"):
            doubled(2, np.arange(3.0))
        np.testing.assert_array_equal(doubled(2, np.arange(3.0)), [0, 2, 4])


def test_a_process_that_ends_waits_for_the_compiler():
    """A thread that is stopped within it, as the interpreter ends, would take the process down."""
    script = """
        import threading
        import numpy as np
        from driftopt.drivers import small_program

        compiled = small_program.compiled_with
        def late(*given):
            threading.main_thread().join()
            print("compiled", flush=True)
            return compiled(*given)

        small_program.compiled_with = late
        small_program.Program(lambda _, x: x).prepare(0, np.ones(3))
        raise SystemExit(7)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "compiled\n", "")
