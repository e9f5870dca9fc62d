"""What every test runs under: two CPU devices, quick compilation, a cache of its own."""

import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

# Plain settings of JAX, which subprocesses inherit: tests compile much and compute little.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="driftopt-tests-")
    os.environ["DRIFTOPT_TESTS"] = str(os.getpid())  # the process that made the folder removes it
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(os.environ["XDG_CACHE_HOME"], "jax"))

import hypothesis
import jax
import pytest

from driftopt import methods
from driftopt.oracle import Sight
from driftopt.runtime import executable_cache

jax.config.update("jax_num_cpu_devices", 2)

# The same examples every time, so that a red run is about the change;
# HYPOTHESIS_PROFILE=search looks for others.
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

pytest_plugins = ["support.browser", "support.servers", "support.stores", "support.windows"]


TESTS = Path(__file__).parent
# Where arrays have no lanes behind their own axes, a silent cast or a broadcast between ranks is a mistake.
STRICT = (
    "methods/test_directions.py",
    "methods/test_estimators.py",
    "methods/test_learners.py",
    "problems/test_synthetic.py",
    "rng",
)


def pytest_unconfigure() -> None:
    """Remove the cache; workers end before the process that made it."""
    if os.environ.get("DRIFTOPT_TESTS") == str(os.getpid()):
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)


modules = itertools.count(1)


@pytest.fixture(scope="module", autouse=True)
def forget_programs() -> Iterator[None]:
    """Forget compiled programs after every tenth file of tests: each holds a megabyte."""
    yield
    if next(modules) % 10 == 0:
        jax.clear_caches()
        gc.collect()


@pytest.fixture(autouse=True)
def _keep_no_programs() -> Iterator[None]:
    """Undo what commands that ran in this process set for it."""
    yield
    executable_cache.keep_in(None)


@pytest.fixture(autouse=True)
def strict_promotion(request: pytest.FixtureRequest) -> Iterator[None]:
    """No implicit casts and no broadcasting between ranks, in the rooms that bear it."""
    if any(request.path.is_relative_to(TESTS / name) for name in STRICT):
        with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
            yield
    else:
        yield


def _numbered(name: str) -> methods.Method:
    return methods.get(name, **methods.entry(name).example)


def _one_of_each(kind: Callable[[methods.Method], object], names: Iterable[str]) -> list[str]:
    """The first name of each kind of method."""
    return list({kind(_numbered(name)): name for name in reversed(list(names))}.values())[::-1]


def _everywhere(name: str) -> bool:
    """Every driver runs the method: it sees values, and takes the same batch in every iteration."""
    method = _numbered(name)
    return method.sees in (Sight.VALUES, Sight.MEMORY) and not method.scheduled


# New methods join the shared tests by joining the registry. Where a property follows from the class or from
# what a method sees, one method of each class or sight stands for the others.
OF_EACH_CLASS = _one_of_each(type, filter(_everywhere, methods.names()))
OF_EACH_SIGHT = _one_of_each(lambda method: (method.sees, method.scheduled), methods.names())


@pytest.fixture(autouse=True)
def forget_modules_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Unload modules that a test wrote and imported: a process never reuses code that has changed."""
    before = set(sys.modules)
    yield
    written = str(tmp_path_factory.getbasetemp())  # not all temporary files: the checkout may be one
    for added in set(sys.modules) - before:
        if str(getattr(sys.modules[added], "__file__", None) or "").startswith(written):
            del sys.modules[added]


@pytest.fixture(params=OF_EACH_CLASS)
def name(request: pytest.FixtureRequest) -> str:
    """One method of each class that every driver runs."""
    return request.param


@pytest.fixture
def method(name: str) -> methods.Method:
    """The method with numbers that run anywhere."""
    return _numbered(name)


@pytest.fixture(params=_one_of_each(type, methods.names()))
def every_method(request: pytest.FixtureRequest) -> methods.Method:
    """One method of every class of the registry, with numbers that run anywhere."""
    return _numbered(request.param)


@pytest.fixture(params=OF_EACH_SIGHT)
def any_name(request: pytest.FixtureRequest) -> str:
    """One method of the registry for each kind of oracle."""
    return request.param


@pytest.fixture
def any_method(any_name: str) -> methods.Method:
    """The method with numbers that run anywhere."""
    return _numbered(any_name)
