"""The tests of a room, run in a fork of this process against a copy of the package with one file changed.

A fork saves the seconds in which JAX, SciPy and pytest are imported; JAX has not computed anything before it.
The programs that JAX compiles are kept and shared, for a change leaves nearly all of them as they were.
"""

import contextlib
import importlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "driftopt"
TAIL = 3000  # of the output of tests that fail, in characters
# What the package and its tests import: loaded once, before the forks.
LIBRARIES = (
    "cyclopts", "hypothesis", "hypothesis.strategies", "jax", "jax.numpy",
    "jax.experimental.serialize_executable", "numpy", "platformdirs", "psycopg", "pytest", "rich.console",
    "rich.table", "scipy.optimize", "scipy.special", "scipy.stats", "sqlalchemy",
    "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite",
)  # fmt: skip


@dataclass
class Trial:
    """One run of tests: in which order, and what came out."""

    tests: tuple[str, ...]  # files and folders, relative to the root
    changed: dict[str, str] = field(default_factory=dict[str, str])  # path below the package: its text
    order: dict[str, int] = field(
        default_factory=dict[str, int]
    )  # the rank of a test; those not named, being new, come first
    left_out: frozenset[str] = frozenset()  # files, or parts of names
    unrelated: frozenset[str] = frozenset()  # tests
    measured: bool = False  # which lines does each test run?
    limit: float = 3600.0  # seconds


@dataclass
class Running:
    trial: Trial
    tag: Any
    process: int
    folder: Path
    started: float


def load_libraries(compiled: Path) -> None:
    """Import what every fork needs; compiled programs are kept in this folder."""
    for name in LIBRARIES:
        importlib.import_module(name)
    import hypothesis
    import jax

    jax.config.update("jax_compilation_cache_dir", str(compiled))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    # A slow machine kills no mutant, and an example found for one is not kept for another.
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutants")


def run_all(trials: Iterable[tuple[Any, Trial]], jobs: int) -> Iterable[tuple[Any, dict[str, Any]]]:
    """Each tag with its outcome, as they come: {"failed": test or None, "seconds": …, "tests": …}."""
    waiting, running = iter(trials), list[Running]()
    while True:
        while len(running) < jobs and (following := next(waiting, None)) is not None:
            running.append(_start(*following))
        if not running:
            return
        for one in list(running):
            outcome = _outcome(one)
            if outcome is not None:
                running.remove(one)
                shutil.rmtree(one.folder, ignore_errors=True)
                yield one.tag, outcome
        time.sleep(0.05)


def _start(tag: Any, trial: Trial) -> Running:
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    # Compiled bytecode comes along: it is good as long as the time and size of its source are.
    shutil.copytree(SOURCE, folder / "driftopt")
    for name, text in trial.changed.items():
        path = folder / "driftopt" / name
        path.write_text(text, encoding="utf-8")
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX warns of forks; it has no threads yet
        process = os.fork()
    if process == 0:
        try:
            _in_child(trial, folder)
        except BaseException:  # not a test's: this runner's own
            (folder / "mistake.txt").write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(0)
    return Running(trial, tag, process, folder, time.monotonic())


def _outcome(one: Running) -> dict[str, Any] | None:
    seconds = time.monotonic() - one.started
    ended, _ = os.waitpid(one.process, os.WNOHANG)
    if not ended and seconds < one.trial.limit:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(one.process, signal.SIGKILL)  # and what the tests have started
    if not ended:
        os.waitpid(one.process, 0)
        return {"failed": "the time limit", "seconds": seconds}
    result = one.folder / "result.json"
    if (one.folder / "mistake.txt").exists():
        raise RuntimeError((one.folder / "mistake.txt").read_text(encoding="utf-8"))
    if not result.exists():
        output = (one.folder / "output.txt").read_text(encoding="utf-8", errors="replace")[-TAIL:]
        return {"failed": "the process died", "seconds": seconds, "output": output}
    return {**json.loads(result.read_text(encoding="utf-8")), "seconds": seconds}


def _in_child(trial: Trial, folder: Path) -> None:
    os.setsid()
    os.chdir(ROOT)
    output = os.open(folder / "output.txt", os.O_CREAT | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), line_buffering=True)
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), line_buffering=True)
    os.environ |= {
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "tests")]),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TMPDIR": str(folder),
    }
    tempfile.tempdir = None
    sys.path.insert(0, str(folder))
    import pytest

    watch = Watch(trial, folder)
    # Doctests are those of the copy.
    tests = [name.replace("src/driftopt", str(folder / "driftopt")) for name in trial.tests]
    quiet = ["-q", "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    apart = ["-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", f"--basetemp={folder / 'tests'}"]
    code = pytest.main([*quiet, *apart, *([] if trial.measured else ["-x"]), *tests], plugins=[watch])
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(f"no test was found in {tests}")
    failed = watch.failed or (None if code == 0 else f"pytest's exit status {int(code)}")
    found: dict[str, Any] = {"failed": failed, "ran": watch.ran}
    if failed:
        found["output"] = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")[-TAIL:]
    if trial.measured:
        found["tests"] = watch.measured()
    (folder / "part.json").write_text(json.dumps(found), encoding="utf-8")
    os.replace(folder / "part.json", folder / "result.json")


class Watch:
    """A pytest plugin: orders the tests, notes the first that fails and, where asked, what each runs."""

    def __init__(self, trial: Trial, folder: Path) -> None:
        self.trial = trial
        self.folder = folder
        self.failed: str | None = None
        self.ran = 0
        self.times: dict[str, float] = {}
        self.coverage: Any = None
        if trial.measured:
            import coverage

            self.coverage = coverage.Coverage(
                data_file=None, config_file=False, source=[str(folder / "driftopt")], messages=False
            )
            self.coverage.start()

    def name(self, item: Any) -> str:
        """The same in every copy."""
        package = self.folder / "driftopt"
        if item.path.is_relative_to(package):
            file = f"src/driftopt/{item.path.relative_to(package).as_posix()}"
        else:
            file = item.path.relative_to(ROOT).as_posix()
        return f"{file}::{item.nodeid.partition('::')[2]}"

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        left_out = [item for item in items if self._is_left_out(self.name(item))]
        config.hook.pytest_deselected(items=left_out)
        gone = {id(item) for item in left_out}
        kept = [item for item in items if id(item) not in gone]
        items[:] = sorted(kept, key=lambda item: self.trial.order.get(self.name(item), -1))

    def _is_left_out(self, name: str) -> bool:
        return name in self.trial.unrelated or any(part in name for part in self.trial.left_out)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.ran += 1

    def pytest_runtest_setup(self, item: Any) -> None:
        if self.coverage is not None:
            self.coverage.switch_context(self.name(item))

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        name = self.name(item)
        self.times[name] = self.times.get(name, 0.0) + call.duration

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid.replace(str(self.folder), "")

    def measured(self) -> dict[str, Any]:
        """The seconds and lines of each test; "" stands for what importing runs."""
        self.coverage.stop()
        data = self.coverage.get_data()
        package = self.folder / "driftopt"
        tests: dict[str, Any] = {
            name: {"seconds": seconds, "lines": {}} for name, seconds in self.times.items()
        }
        tests[""] = {"seconds": 0.0, "lines": {}}
        for file in data.measured_files():
            short = Path(file).relative_to(package).as_posix()
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    if context in tests:
                        tests[context]["lines"].setdefault(short, []).append(line)
        return tests
