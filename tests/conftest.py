"""What every test runs under: two CPU devices as on a two-core machine, quick compilation, a cache apart."""

import os
import tempfile

# Tests compile much and compute little; results are the same to rounding. Subprocesses inherit both.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(prefix="driftopt-tests-"))

import jax
import pytest

from driftopt import methods

jax.config.update("jax_num_cpu_devices", 2)

pytest_plugins = ["support.browser", "support.stores"]


@pytest.fixture(params=methods.names())
def name(request: pytest.FixtureRequest) -> str:
    """Every method of the registry: a new one joins every shared test by joining the registry."""
    return request.param


@pytest.fixture
def method(name: str) -> methods.Method:
    """The method with numbers that run anywhere."""
    return methods.get(name, **methods.entry(name).example)
