"""Wrong but plausible arguments at every entry: Hypothesis draws them, and what comes of them is counted.

Each call takes arguments that work and replaces one or two. It may then work, or be refused with an error of
our own that names one of the replaced arguments. Anything else is a failure: another exception, a refusal
that names none of them, a warning, a result that cannot be, a call that does not end.

`python -m benchmarks.fuzz --calls 10000` prints the figures for every entry.
"""

import contextlib
import io
import os
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

import driftopt
from driftopt.packages import MissingPackage
from driftopt.study.errors import StudyError
from support.fuzz_values import odd

SECONDS = 120  # after which a call counts as one that does not end
OURS = (ValueError, StudyError, driftopt.MinimizeError, MissingPackage, FileNotFoundError, PermissionError)
NOT_OURS = ("/site-packages/", "/lib/python")


@dataclass(frozen=True)
class Entry:
    """One entry: how to call it, arguments that work, and what else its errors may call an argument."""

    call: Callable[..., Any]
    good: Callable[[], dict[str, Any]]
    also: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    drawn: Callable[[Any], st.SearchStrategy[Any]] = odd
    right: Callable[[Any], bool] = lambda result: True  # whether a result can be one


@dataclass
class Count:
    """What came of an entry's calls."""

    calls: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list[str])


def fuzz(entry: Entry, calls: int, seed: int = 0) -> Count:
    """So many calls of one entry, drawn by Hypothesis."""
    count = Count()
    names = sorted(entry.good())

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=calls,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(st.data())
    def one(data: st.DataObject) -> None:
        good = entry.good()
        replaced = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        odd_ones = {name: data.draw(entry.drawn(good[name])) for name in replaced}
        said = judge(entry, {**good, **odd_ones}, replaced)
        count.calls += 1
        count.refused += said == ""
        count.failures += [said] if said else []

    one()
    return count


def judge(entry: Entry, call: dict[str, Any], replaced: list[str]) -> str | None:
    """One call: None where it works, nothing to say where it is refused well, else what went wrong."""
    shown = ", ".join(f"{name}={_shown(call[name])}" for name in replaced)
    quiet = io.StringIO()
    try:
        with (
            _limit(SECONDS),
            contextlib.redirect_stdout(quiet),
            contextlib.redirect_stderr(quiet),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            result = entry.call(**call)
    except OURS as error:
        if _below(error):
            return f"({shown}) from below: {_said(error)}"
        if not named(str(error), replaced, entry):
            return f"({shown}) names none of them: {_said(error)}"
        return ""
    except Exception as error:
        return f"({shown}) {_said(error)}"
    return None if entry.right(result) else f"({shown}) gave {_shown(result)}"


def named(text: str, replaced: list[str], entry: Entry) -> bool:
    """Whether a sentence speaks of one of the arguments, as a word of its own."""
    words = [alias for name in replaced for alias in (name, *entry.also.get(name, ()))]
    return any(re.search(rf"(?<![\w]){re.escape(alias)}(?![\w])", text, re.IGNORECASE) for alias in words)


@contextlib.contextmanager
def shut_off(place: Path) -> Generator[Path]:
    """A folder deep inside `place` in which all is written, while nothing is fetched."""
    from unittest import mock

    from driftopt.data.cache import DataError

    def refuse(file: Any, *_: Any) -> bytes:
        raise DataError(f"data: {file.name} is not fetched in the tests")

    folder = place / "deep" / "inside"
    folder.mkdir(parents=True)
    before = {"DRIFTOPT_DATA": str(folder / "data"), "COLUMNS": "240"}
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, before),
        mock.patch.dict("driftopt.methods.registry._REGISTERED"),
        mock.patch.dict("driftopt.problems.registry._REGISTERED"),
        mock.patch("driftopt.data.fetch._download", refuse),
        mock.patch("driftopt.data.fetch._from_wheel", refuse),
    ):
        yield folder


def _below(error: BaseException) -> bool:
    """Whether the error was raised by a package that we use, not by us."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and any(part in frames[-1].filename for part in NOT_OURS)


def _said(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/driftopt/" in f.filename]
    where = f" [{Path(frames[-1].filename).name}:{frames[-1].lineno}]" if frames else ""
    return f"{type(error).__name__}: {ascii(str(error))[:200]}{where}"


def _shown(value: Any) -> str:
    try:
        return ascii(value)[:100]
    except Exception:
        return f"a {type(value).__name__}"


class Endless(Exception):
    """A call took too long."""


@contextlib.contextmanager
def _limit(seconds: int) -> Generator[None]:
    def stop(*_: object) -> None:
        raise Endless(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
