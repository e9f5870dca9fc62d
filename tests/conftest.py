"""What every test runs under: two CPU devices as on a two-core machine, quick compilation, a cache apart."""

import os
import tempfile
from collections.abc import Iterator

# Tests compile much and compute little; results are the same to rounding. Subprocesses inherit both.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(prefix="driftopt-tests-"))

import hypothesis
import jax
import pytest

from driftopt import methods
from driftopt.oracle import Sight
from support.quick_loop import below, mark_long

jax.config.update("jax_num_cpu_devices", 2)

# The same examples every time, so that a red run is about the change;
# HYPOTHESIS_PROFILE=search looks for others.
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

pytest_plugins = ["support.browser", "support.stores"]


# Where arrays have no lanes behind their own axes, a silent cast or a broadcast between ranks is a mistake.
STRICT = (
    "methods/test_directions.py",
    "methods/test_estimators.py",
    "methods/test_learners.py",
    "problems/test_synthetic.py",
    "rng",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is long as slow."""
    mark_long(items)


@pytest.fixture(autouse=True)
def strict_promotion(request: pytest.FixtureRequest) -> Iterator[None]:
    """No implicit casts and no broadcasting between ranks, in the rooms that bear it."""
    if below(request.path, STRICT):
        with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
            yield
    else:
        yield


def everywhere(name: str) -> bool:
    """Whether every driver runs the method: it sees values, and takes the same batch in every iteration."""
    method = methods.get(name, **methods.entry(name).example)
    return method.sees in (Sight.VALUES, Sight.MEMORY) and not method.scheduled


@pytest.fixture(params=filter(everywhere, methods.names()))
def name(request: pytest.FixtureRequest) -> str:
    """Every method that every driver runs: a new one joins the shared tests by joining the registry."""
    return request.param


@pytest.fixture
def method(name: str) -> methods.Method:
    """The method with numbers that run anywhere."""
    return methods.get(name, **methods.entry(name).example)


@pytest.fixture(params=methods.names())
def any_name(request: pytest.FixtureRequest) -> str:
    """Every method of the registry, whatever it sees."""
    return request.param


@pytest.fixture
def any_method(any_name: str) -> methods.Method:
    """The method with numbers that run anywhere."""
    return methods.get(any_name, **methods.entry(any_name).example)
