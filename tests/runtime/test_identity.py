"""The identity of code changes with what is computed; what it cannot know is named."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftopt.pytree import module, static
from driftopt.runtime.identity import of_python, of_trace, ours, own_files


def seen(fun, *arguments):
    return of_trace(jax.make_jaxpr(fun)(*arguments))


X = jnp.arange(4.0)
TABLE = np.arange(10.0)


def with_number(n):
    return {
        "literal": lambda x: x + n,
        "constant": lambda x: x + jnp.asarray(np.arange(4.0) + n),
        "in a loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + n, x),
        "the loop's length": lambda x: jax.lax.fori_loop(0, n, lambda i, y: y + 1, x),
        "in a branch": lambda x: jax.lax.cond(x[0] > 0, lambda y: y + n, lambda y: y, x),
        "in a custom rule": lambda x: jax.nn.relu(x * n),
        "a closed-over key": lambda x: jax.random.normal(jax.random.key(n), (3,)),
        "a table": lambda x: jnp.interp(x, TABLE, TABLE * n),
        "a callback": lambda x: jax.pure_callback(lambda y: np.asarray(y) * n, x, x),
        "a type": lambda x: x.astype([jnp.float16, jnp.int32][n % 2]),
    }


@pytest.mark.parametrize("kind", with_number(2))
def test_a_change_anywhere_in_a_trace_is_seen(kind):
    first, again, other = (seen(with_number(n)[kind], X) for n in (2, 2, 3))
    assert first == again
    assert first.digest != other.digest
    assert first.unknown == ()


def test_names_do_not_count_and_the_order_of_operands_does():
    one, other = jax.jit(lambda x: (x + 1) * 2), jax.jit(lambda value: (value + 1) * 2)
    assert seen(lambda a: one(a), X) == seen(lambda b: other(b), X)
    assert seen(lambda x, y: x - y, X, X) != seen(lambda x, y: y - x, X, X)
    assert seen(lambda x: x + 1, X) != seen(lambda x: x + 1, X[:3])


def test_a_callback_to_what_cannot_be_known_is_named():
    stream = (i for i in range(3))
    found = seen(lambda x: jax.pure_callback(lambda y: next(stream), X, x), X)
    assert "generator" in found.unknown[0]


USER = """
import the_simulator
def noisy(x):
    from the_package.deep import late
    return the_simulator.target() + late
"""
FILES = {
    "the_user.py": USER,
    "the_simulator.py": "from the_table import TARGET\ndef target():\n    return TARGET\n",
    "the_table.py": "TARGET = 2\n",
    "the_package/__init__.py": "",
    "the_package/deep.py": "late = 1\n",  # imported when the function is called
}
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import the_user
from driftopt.runtime.identity import of_python
print(of_python(the_user.noisy))
"""


def identity_in_a_process(folder, seed="1"):
    for file in folder.rglob("*.py"):
        os.utime(file, (1, 1))  # long before that process begins
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_change_in_any_file_that_a_function_leads_to_is_seen(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    first = identity_in_a_process(tmp_path)
    assert "unknown=()" in first
    assert identity_in_a_process(tmp_path, "2") == first
    for name in FILES:
        (tmp_path / name).write_text(FILES[name] + "# another\n")
        assert identity_in_a_process(tmp_path) != first, name
        (tmp_path / name).write_text(FILES[name])


def test_a_file_that_was_edited_since_it_was_loaded_is_named(tmp_path, monkeypatch):
    """Python runs what it loaded, not what is in the file now."""
    file = tmp_path / "edited_later.py"
    file.write_text("def noisy(x):\n    return 1.0\n")
    os.utime(file, (1, 1))
    monkeypatch.syspath_prepend(tmp_path)
    import edited_later  # pyright: ignore[reportMissingImports]

    try:
        assert of_python(edited_later.noisy).unknown == ()
        os.utime(file)
        (sentence,) = of_python(edited_later.noisy).unknown
        assert str(file) in sentence
        assert own_files()["edited_later"].edited
    finally:
        del sys.modules["edited_later"]


class Called:
    def __init__(self, target):
        self.target = target

    def __call__(self, x):
        return float((x[0] - self.target) ** 2)

    def named(self, x):
        return self(x)


def closing(target):
    def noisy(x):
        return float((x[0] - target) ** 2)

    return noisy


KINDS = {
    "closure": closing,
    "lambda": lambda target: lambda x: float((x[0] - target) ** 2),
    "default": lambda target: lambda x, target=target: float((x[0] - target) ** 2),
    "partial": lambda target: functools.partial(lambda x, target: float(x[0] - target), target=target),
    "object": Called,
    "method": lambda target: Called(target).named,
    "array": lambda target: closing(np.full(3, target)),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_what_a_function_holds_is_seen(make):
    assert of_python(make(2.0)) == of_python(make(2.0)) != of_python(make(200.0))
    assert of_python(make(2.0)).unknown == ()


def test_two_functions_of_one_file_are_two():
    assert of_python(closing(1)) != of_python(lambda x: 1)
    assert of_python(lambda x: 1) != of_python(lambda x: 2)


def test_what_is_in_no_file_is_named():
    space = {"__name__": "notebook"}
    exec("def typed(x):\n    return 1.0", space)
    (sentence,) = of_python(space["typed"]).unknown
    assert "notebook.typed, which is in no source file" in sentence
    assert "generator" in of_python(closing(i for i in range(3))).unknown[0]
    assert of_python(len, np.sum, [1.0, "a"]).unknown == ()


def test_only_the_users_own_files_count():
    found = {file.path for file in own_files().values()}
    assert Path(__file__).resolve() in found
    assert not [path for path in found if "site-packages" in path.parts or path.parent.name == "driftopt"]


@module
class Mine:
    fun: object = static(default=len)


def test_a_class_of_somebody_else_is_not_ours(monkeypatch):
    assert not ours(Mine())
    monkeypatch.setattr(Mine, "__module__", "driftopt.somewhere")
    assert not ours(Mine())  # for the function within it
    assert ours(Mine("a word"))
