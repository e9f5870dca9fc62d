"""What a function can reach: every change is seen, nothing else is, and what cannot be seen is named.

Longer than 300 lines: what must be seen and what must not is one list, read side by side.
"""

import functools
import importlib
import io
import logging
import math
import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from driftopt.runtime.reachable_code import reach


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write modules into a folder of their own and import them anew, as a second process would."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def forget() -> None:
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]

    def written(**texts: str) -> ModuleType:
        forget()
        for name, text in texts.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        importlib.invalidate_caches()
        return __import__(next(iter(texts)))

    yield written
    forget()


def typed(text: str, name: str = "it", **space):
    """What a notebook's cell makes: no file holds its source."""
    exec(textwrap.dedent(text), space)
    return space[name]


USER = """
import simulator
def noisy(x, rng):
    return (x[0] - simulator.target()) ** 2 + rng.normal()
"""


# What must be seen


def test_a_change_in_another_module_is_seen(write):
    """The example that printed old figures as new."""
    before = reach(write(user=USER, simulator="def target(): return 2").noisy)
    same = reach(write(user=USER, simulator="def target(): return 2").noisy)
    after = reach(write(user=USER, simulator="def target(): return 200").noisy)
    assert before == same != after
    assert before.unseen == ()


@pytest.mark.parametrize(
    "user",
    [
        "from simulator import target\ndef noisy(x): return target()",
        "from simulator import target as goal\ndef noisy(x): return goal()",
        "def noisy(x):\n    from simulator import target\n    return target()",
        "def noisy(x):\n    import simulator\n    return simulator.target()",
        "import simulator\ndef noisy(x): return getattr(simulator, 'target')()",
        "import simulator\ndef noisy(x):\n    def inner(): return simulator.target()\n    return inner()",
        "import simulator\nnoisy = lambda x: simulator.target()",
        "import simulator, functools\nnoisy = functools.partial(lambda f, x: f(), simulator.target)",
        "import between\ndef noisy(x): return between.pass_on()",
        "import simulator\nclass C:\n    def __call__(self, x): return simulator.target()\nnoisy = C()",
        "import simulator\nclass C:\n    def m(self, x): return simulator.target()\nnoisy = C().m",
        "import simulator\nclass C(simulator.Base): pass\nnoisy = C().base",
        "import simulator\nTABLE = {'a': simulator.target}\ndef noisy(x): return TABLE['a']()",
        "import simulator, functools\n@functools.lru_cache\ndef noisy(x): return simulator.target()",
        "import simulator, jax\n@jax.jit\ndef noisy(x): return simulator.target()",
        "import simulator\ndef wrap(f):\n    return lambda x: f()\nnoisy = wrap(simulator.target)",
        "import simulator\ndef noisy(x, f=simulator.target): return f()",
        "import package\ndef noisy(x): return package.inner.simulate()",
        "from package import inner\ndef noisy(x): return inner.simulate()",
    ],
)
def test_every_way_to_call_another_module_is_followed(write, user):
    def seen(target):
        base = f"class Base:\n    def base(self, x): return target()\ndef target(): return {target}"
        return reach(
            write(
                user=user,
                simulator=base,
                between="import simulator\ndef pass_on(): return simulator.target()",
                **{
                    "package/__init__": "from package import inner",
                    "package/inner": "import simulator\ndef simulate(): return simulator.target()",
                },
            ).noisy
        )

    first, again, changed = seen(2), seen(2), seen(200)
    assert first.unseen == ()
    assert first == again != changed


def test_a_module_that_is_not_loaded_yet_counts_by_its_text(write):
    user = "def noisy(x):\n    import later\n    return later.target()"
    assert (
        reach(write(user=user, later="def target(): return 2").noisy)
        == reach(write(user=user, later="def target(): return 2").noisy)
        != reach(write(user=user, later="def target(): return 3").noisy)
    )


@pytest.mark.parametrize("value", [3, 2.5, "b", [1, 3], {"a": 2}, np.arange(3), {1, 5}, (1, (2, 4)), None])
def test_a_global_set_at_run_time_is_seen(write, value):
    user = write(user="import simulator\ndef noisy(x): return simulator.TARGET", simulator="TARGET = 2")
    before = reach(user.noisy)
    user.simulator.TARGET = value
    assert reach(user.noisy) != before
    user.simulator.TARGET = 2
    assert reach(user.noisy) == before


def test_a_function_replaced_at_run_time_is_seen(write):
    user = write(user=USER, simulator="def target(): return 2")
    before = reach(user.noisy)
    user.simulator.target = lambda: 200
    assert reach(user.noisy) != before


def test_what_is_typed_into_a_notebook_is_seen():
    def cell(power, name):
        text = f"""
        class Mine:
            def value(self, x):
                return [v ** {power} for v in x]
        def fun(x): return x ** {power}
        """
        return reach(typed(text, name))

    for name in ("Mine", "fun"):
        assert cell(2, name) == cell(2, name) != cell(3, name)
    assert reach(typed("class Mine: power = 2", "Mine")) != reach(typed("class Mine: power = 3", "Mine"))
    assert reach(typed("G = 2\ndef it(x): return G")) != reach(typed("G = 3\ndef it(x): return G"))


def test_closures_defaults_attributes_and_state_are_seen():
    def closing(number):
        return lambda x: x + number

    def default(number):
        def it(x, n=number, *, k=number):
            return x

        return it

    def attribute(number):
        def it(x):
            return x

        it.number = number
        return it

    class Callable:
        def __init__(self, number):
            self.number = number

        def __call__(self, x):
            return x + self.number

    class Slotted:
        __slots__ = ("number",)

        def __init__(self, number):
            self.number = number

    @dataclass(frozen=True)
    class Data:
        number: float

    makers = [
        *(closing, default, attribute, Callable, Slotted, Data),
        lambda n: functools.partial(pow, n),
        lambda n: Callable(n).__call__,
        lambda n: [closing(n)],
        lambda n: jax.jit(closing(n)),
        lambda n: functools.lru_cache(closing(n)),
        lambda n: np.random.default_rng(n),
        lambda n: jnp.arange(3) * n,
        lambda n: jax.random.key(n),
        lambda n: scipy.stats.norm(loc=n),
        lambda n: np.array([closing(n)], object),
        lambda n: memoryview(bytes([n])),
    ]
    for make in makers:
        assert reach(make(2)) == reach(make(2)) != reach(make(3)), make
        assert reach(make(2)).unseen == ()


def annotated(x: float | None) -> float | None:
    return x


class Decorator:
    """Is more than what it wraps."""

    def __init__(self, number):
        functools.update_wrapper(self, annotated)
        self.number = number


class Secretive:
    """Has pickle leave its number out."""

    def __init__(self, number):
        self.number = number

    def __getstate__(self):
        return {}


class OneOnly:
    """Goes by its name, whatever it holds."""

    __slots__ = ("number",)

    def __reduce__(self):
        return "ONLY"


ONLY = OneOnly()


def only(number):
    ONLY.number = number
    return ONLY


class Attributed(np.ndarray):
    """Numbers with an attribute."""


def attributed(number):
    array = np.zeros(2).view(Attributed)
    array.number = number
    return array


def of_metaclass(number):
    return type("Meta", (type,), {"number": property(lambda cls: number)})("Made", (), {})


@pytest.mark.parametrize("make", [Decorator, Secretive, only, attributed, of_metaclass])
def test_what_pickle_leaves_out_is_seen(make):
    before, again, after = (reach(make(number)) for number in (2, 2, 3))
    assert before == again != after
    assert before.unseen == ()


def test_the_mask_of_an_array_and_the_class_of_numbers_are_seen():
    one, other = (np.ma.array([1.0, 2.0], mask=mask) for mask in ([0, 1], [1, 0]))
    assert reach(one) == reach(one.copy()) != reach(other)
    assert reach(np.zeros(2).view(Attributed)) != reach(np.zeros(2))


def test_a_users_file_that_hides_a_library_is_the_users(write):
    """`profile` is a module of the standard library; here it is a file beside the user's."""
    hidden = sys.modules.pop("profile", None)
    try:
        user = "import profile\ndef noisy(x): return profile.target()"
        before = reach(write(user=user, profile="def target(): return 2").noisy)
        sys.modules.pop("profile")
        assert reach(write(user=user, profile="def target(): return 3").noisy) != before
    finally:
        sys.modules.pop("profile", None)
        if hidden is not None:
            sys.modules["profile"] = hidden


# What must not be seen


def test_for_code_of_the_users_own_nobody_looks_through_the_installed_packages(write, monkeypatch):
    """That takes a third of a second, for each of the user's modules, before the first run."""
    monkeypatch.setattr("importlib.metadata.packages_distributions", pytest.fail)
    text = "from dataclasses import dataclass\n@dataclass\nclass World:\n    target: float"
    assert reach(write(users_own=text).World(2.0)).unseen == ()


def test_comments_and_lines_do_not_count():
    one = typed("def it(x):\n    return x + 1")
    other = typed("# a comment\n\n\ndef it(x):\n    # another\n    return x + 1")
    assert reach(one) == reach(other)


def test_values_that_the_function_does_not_name_do_not_count(write):
    text = "import time\nSTARTED = {}\nlog = []\ndef noisy(x): return x"
    assert reach(write(user=text.format(1)).noisy) == reach(write(user=text.format(2)).noisy)


def test_the_order_of_a_set_and_sharing_do_not_count():
    a, b = [1.0, 2.0], [1.0, 2.0]
    assert reach([a, a]) == reach([a, b])
    assert reach({"x", "y", "z"}) == reach({"z", "y", "x"})


SCRIPT = """
import numpy as np
from dataclasses import dataclass
from driftopt.runtime.reachable_code import reach
from scipy.stats import norm
import random
WORDS = {"a", "bc", "def", "ghij"}
@dataclass
class World:
    target: float = 2.0
    def value(self, x): return np.sum((x - self.target) ** 2) + len(WORDS)
world = World()
def noisy(x, rng):
    return world.value(x) + norm.rvs() + np.random.normal() + random.random() + (x[0] in {1, 5, 900})
print(reach(noisy))
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
    assert "unseen=()" in found.pop()


# What cannot be seen


def test_what_cannot_be_seen_is_named(tmp_path):
    with (tmp_path / "file").open("w") as file:

        def writing(x):
            return file.write(str(x))

        (sentence,) = reach(writing).unseen
    assert "file" in sentence
    assert "TextIOWrapper" in sentence
    assert "cannot be seen" in sentence
    (sentence,) = reach(np.frompyfunc(lambda x: 1.0, 1, 1)).unseen
    assert sentence == "it (numpy.ufunc), which no module has under its name"
    assert reach(np.sin, scipy.special.expit).unseen == ()
    service = typed("def it(x): return next(stream)", stream=(i for i in range(3)))
    assert "stream" in reach(service).unseen[0]


def test_locks_loggers_and_buffers_are_no_obstacle():
    log, lock, buffer = logging.getLogger("a name"), threading.Lock(), io.BytesIO(b"1")

    def noisy(x):
        with lock:
            log.info("asked")
            return math.sqrt(x) + len(buffer.getvalue())

    assert reach(noisy).unseen == ()


def test_cycles_and_depth_end():
    circle = []
    circle.append(circle)
    assert reach(circle).unseen == ()

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert reach(even).unseen == ()
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert reach(deep).unseen == ("it is nested too deeply",)
