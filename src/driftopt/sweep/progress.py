"""The progress of a sweep and whether its results are reused.

On a terminal a bar shows the progress, elsewhere a line every 20 seconds. Both give the number of workers,
the queries per second and the time left.
"""

import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any

EVERY = 20.0  # seconds between lines where there is no terminal

report_reuse: ContextVar[bool] = ContextVar("report_reuse", default=True)  # whether each sweep reports it


def rate(queries: float, seconds: float) -> str:
    """Queries per second in words.

    >>> rate(3_000_000, 2)
    '1.5 million queries/s'
    """
    speed = queries / max(seconds, 1e-9)
    return f"{speed / 1e6:.1f} million queries/s" if speed >= 1e5 else f"{speed:,.0f} queries/s"


def duration(seconds: float) -> str:
    """A time in words, with the precision of an estimate.

    >>> [duration(seconds) for seconds in (0.4, 50, 130, 2400, 9000, 400_000)]
    ['1 second', '50 seconds', '2 minutes', '40 minutes', '2.5 hours', '4.6 days']
    """
    for size, name in ((86_400, "day"), (3_600, "hour")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {name}s"
    if seconds >= 90:
        return f"{seconds / 60:.0f} minutes"
    whole = max(1, round(seconds))
    return f"{whole} second{'s' * (whole > 1)}"


class SweepProgress:
    """A context that shows progress: call `advance` after each part, `note` for a sentence.

    Args:
        title: the name of the progress.
        total: queries of the sweep.
        show: whether to show progress; notes are always shown.
        workers: returns the number of workers now.
    """

    def __init__(
        self,
        title: str,
        total: int,
        *,
        show: bool = True,
        workers: Callable[[], int | None] = lambda: None,
    ):
        self.title, self.total, self.show, self._workers = title, total, show, workers
        self.done, self.started, self.spoken = 0, time.monotonic(), time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "SweepProgress":
        if self.show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total, rate="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.show and kind is None and self.done:
            self.note(f"{self.title}: {self.done:,} queries, {rate(self.done, self.seconds)}")

    @property
    def seconds(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self.started

    def skip(self, queries: int) -> None:
        """Take the queries of a reused part off the total, so that the rate counts only computed ones."""
        self.total -= queries
        if self._bar is not None:
            self._bar.update(self._task, total=self.total)

    def advance(self, queries: int) -> None:
        """Count these queries as done."""
        self.done += queries
        if not self.show:
            return
        speed, count = rate(self.done, self.seconds), self._workers()
        if count is not None:
            speed += f", {count} worker{'s' * (count != 1)}"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, rate=speed)
        elif time.monotonic() - self.spoken > EVERY:
            self.spoken = time.monotonic()
            line = f"{self.title}: {100 * self.done / max(self.total, 1):.0f}%, {speed}"
            if 0 < self.done < self.total:
                left = self.seconds * (self.total - self.done) / self.done
                line += f", about {duration(left)} left"
            self.note(line)

    def note(self, sentence: str) -> None:
        """Show a sentence that you should see even where progress is hidden."""
        if self._bar is not None:
            self._bar.console.print(sentence, highlight=False)
        else:
            print(sentence, file=sys.stderr, flush=True)


@contextmanager
def reuse_reported_at_the_end() -> Generator[None]:
    """A block in which sweeps do not report reuse, because the caller reports it for all of them."""
    before = report_reuse.set(False)
    try:
        yield
    finally:
        report_reuse.reset(before)


def reused_parts(manifests: Sequence[Mapping[str, Any]], folder: Path | None = None) -> str:
    """A sentence about how many parts of these sweeps were reused, and from where.

    >>> reused_parts([{"parts": 5, "parts_found_finished": 2}, {"parts": 3, "parts_found_finished": 0}])
    '2 of 8 parts were finished before and are used again'
    >>> reused_parts([{"parts": 3, "parts_found_finished": 0}])
    'all 3 parts were run now'
    """
    reused, parts = (sum(one[key] for one in manifests) for key in ("parts_found_finished", "parts"))
    if not reused:
        return f"all {parts} parts were run now"
    source = "" if folder is None else f", from {folder / 'parts'}; --fresh computes them again"
    return f"{reused} of {parts} parts were finished before and are used again{source}"
