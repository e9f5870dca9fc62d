"""What every test runs under: two CPU devices as on a two-core machine."""

import jax
import pytest

from driftopt import methods

jax.config.update("jax_num_cpu_devices", 2)


@pytest.fixture(params=methods.names())
def name(request: pytest.FixtureRequest) -> str:
    """Every method of the registry: a new one joins every shared test by joining the registry."""
    return request.param


@pytest.fixture
def method(name: str) -> methods.Method:
    """The method with numbers that run anywhere."""
    return methods.get(name, **methods.entry(name).example)
