"""What every test runs under: two CPU devices as on a two-core machine, quick compilation, a cache apart."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Tests compile much and compute little; results are the same to rounding. Subprocesses inherit both.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(prefix="driftopt-tests-"))

import hypothesis
import jax
import pytest

from driftopt import methods
from driftopt.oracle import Sight

jax.config.update("jax_num_cpu_devices", 2)

# The same examples every time, so that a red run is about the change;
# HYPOTHESIS_PROFILE=search looks for others.
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

pytest_plugins = ["support.browser", "support.stores"]


# Left out of `make test-quick`, besides what is marked slow: runs whose statistics are judged, processes that
# are killed, browsers, whole protocols and pages. What is left holds the identities.
LONG = (
    "cli/test_demo.py",
    "comparison/test_compare.py",
    "comparison/test_core_installation.py",
    "docs/test_architecture.py",
    "docs/test_code_blocks.py",
    "docs/test_documents.py",
    "docs/test_readme.py",
    "docs/test_site.py",
    "docs/test_studies.py",
    "drivers/test_finite.py",
    "drivers/test_minimization.py",
    "drivers/test_minimization_failures.py",
    "drivers/test_simulation.py",
    "drivers/test_simulation_door.py",
    "methods/test_auto.py",
    "methods/test_estimators.py",
    "methods/test_field_answers.py",
    "paper/test_reproduction.py",
    "problems/test_known_answers.py",
    "problems/test_pricing.py",
    "problems/test_strategic.py",
    "problems/test_synthetic.py",
    "report/test_page.py",
    "runtime/test_executable_cache.py",
    "stationarity",
    "study/test_interleavings.py",
    "study/test_safe_steps.py",
    "study/test_swarm.py",
    "sweep/test_cluster.py",
    "sweep/test_sweep.py",
    "test_fuzz.py",
    "test_instances.py",
    "test_plugins.py",
    "test_shapes.py",
)


IN_THE_QUICK_LOOP = ("auto", "zo-o2nc-2pt", "gzo-hs")  # two that see values, one that sees ξ

# Where arrays have no lanes behind their own axes, a silent cast or a broadcast between ranks is a mistake.
STRICT = (
    "methods/test_directions.py",
    "methods/test_estimators.py",
    "methods/test_learners.py",
    "problems/test_synthetic.py",
    "rng",
)


def below(path: Path, names: tuple[str, ...]) -> bool:
    """Whether a file is one of these, or in one of these folders, of tests/."""
    return any(path.is_relative_to(Path(__file__).parent / name) for name in names)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is long as slow, so that the quick loop takes three methods and SQLite alone."""
    for item in items:
        given = (
            item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        )
        asked = {value for key, value in given.items() if key in ("name", "any_name")}
        another_method = asked & set(methods.names()) - set(IN_THE_QUICK_LOOP)
        if below(item.path, LONG) or another_method or "postgres" in item.nodeid:
            item.add_marker(pytest.mark.slow)


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
