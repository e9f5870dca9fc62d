"""What every test runs under: two CPU devices as on a two-core machine, quick compilation, a cache apart."""

import ctypes
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

# Tests compile much and compute little; results are the same to rounding. Subprocesses inherit all of it.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    # XLA ends the process over a flag that it does not know, as it does not know this one since 0.12.
    + " --xla_cpu_use_fusion_emitters=false" * (tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 12)),
)
if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="driftopt-tests-")
    os.environ["DRIFTOPT_TESTS"] = str(os.getpid())  # who made the folder removes it
# What one worker, module or subprocess has compiled, the others find.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(os.environ["XDG_CACHE_HOME"], "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Programs do not say which line of Python each operation comes from: a twentieth of the time to make them.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

import hypothesis
import jax
import pytest

from driftopt import methods
from driftopt.drivers import compiler_options
from driftopt.oracle import Sight
from driftopt.runtime import executable_cache, jax_settings
from support.hashes import hash_in_c
from support.order import by_subject
from support.programs import begin_anew_beyond, forget_programs, share_contexts
from support.quick_loop import LONG_FILES, below, mark_long
from support.statements import leave_it_to_the_system, share_statements

jax.config.update("jax_num_cpu_devices", 2)
jax_settings.write_entries_whole()  # or a worker finds half of what another one is just keeping
share_contexts()
hash_in_c(Path(os.environ["XDG_CACHE_HOME"]))
share_statements()
leave_it_to_the_system()
# The loops say themselves how hard to optimise: here as little as the rest. Commands that tests start as
# processes optimise as always.
compiler_options.OPTIONS["cpu"]["xla_backend_optimization_level"] = 0

# The same examples every time, so that a red run is about the change;
# HYPOTHESIS_PROFILE=search looks for others.
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

pytest_plugins = [
    "support.as_always",
    "support.browser",
    "support.servers",
    "support.small_units",
    "support.stores",
    "support.windows",
]


# Where arrays have no lanes behind their own axes, a silent cast or a broadcast between ranks is a mistake.
STRICT = (
    "methods/test_directions.py",
    "methods/test_estimators.py",
    "methods/test_learners.py",
    "problems/test_synthetic.py",
    "rng",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import the long files where nothing slow is asked for: that takes ten seconds."""
    return True if config.option.markexpr == "not slow" and below(collection_path, LONG_FILES) else None


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker more than there are cores: a quarter of the whole suite is waiting for processes and disks."""
    return jax_settings.cores() + (config.option.markexpr != "not slow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is long as slow, and let neighbours need the same programs."""
    mark_long(items)
    by_subject(items)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind but programs in a folder that was named for them, and of these not too many.

    Workers end before whoever made the folder.
    """
    if os.environ.get("DRIFTOPT_TESTS") == str(os.getpid()):
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    kept = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    if not hasattr(config, "workerinput") and kept == config.rootpath / ".pytest_cache" / "programs":
        begin_anew_beyond(2**30, kept)


# A worker's memory stays below 1.5 GB: some pages of the documentation alone take 0.3 GB.
FULL = 1150 * 2**20  # bytes of memory from which on a worker forgets its compiled programs
ROOM = 250 * 2**20  # what it may take before it forgets again, however much could not be given back
enough = FULL
SHORTEST = jax.config.jax_persistent_cache_min_compile_time_secs  # seconds of compiling that are kept


def pytest_collection_finish() -> None:
    """Look for garbage less often: modules and tests are none, and tracing makes much that lives on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Undo what commands set in this process, and forget compiled programs once they fill the memory."""
    global enough
    executable_cache.keep_in(None)
    if jax.config.jax_persistent_cache_min_compile_time_secs != SHORTEST:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", SHORTEST)
    if os.path.exists("/proc/self/statm") and memory() > enough:
        forget_programs()
        gc.collect()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # only some C libraries have it
            trim(0)
        enough = max(FULL, memory() + ROOM)


def memory() -> int:
    """The bytes of memory that this process has."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
