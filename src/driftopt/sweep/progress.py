"""The progress of a sweep: the share that is done, its speed, and the time left.

On a terminal a bar shows the progress, elsewhere a line every 20 seconds. The time left is the sum over the
methods: each is as slow as its finished parts were.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftopt.sweep.cutting import Part

EVERY = 20.0  # seconds between lines where there is no terminal


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
    """A context that shows progress: `begin` with the parts, `advance` after each, `note` for a sentence.

    Args:
        title: the name of the progress.
        show: whether to show progress; notes are always shown.
        workers: returns the number of workers now.
    """

    def __init__(self, title: str, *, show: bool, workers: Callable[[], int | None] = lambda: None):
        self.title, self.show, self._workers = title, show, workers
        self.done, self.started, self.spoken = 0, time.monotonic(), time.monotonic()
        self.left = dict[str, int]()  # queries that are still to come, by method
        self._took = dict[str, tuple[int, float]]()  # queries and seconds of its finished parts, by method
        self._bar: Any = None

    def __enter__(self) -> "SweepProgress":
        if self.show and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True))
            self._bar.start()
            self._bar.add_task(self.title)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self.show and kind is None and self.done:
            self.note(f"{self.title}: {self.done:,} queries, {self._speed()}")

    def begin(self, parts: Sequence[Part]) -> None:
        """Start the clock with these parts to be run."""
        self.started = time.monotonic()
        for part in parts:
            self.left[part.grid.label] = self.left.get(part.grid.label, 0) + part.queries

    def skip(self, part: Part) -> None:
        """Leave out a part that another scheduler has finished, so that the speed counts only ours."""
        self.left[part.grid.label] -= part.queries

    def advance(self, part: Part, seconds: float) -> None:
        """Count a part as done that a worker has computed in this time."""
        queries, took = self._took.get(part.grid.label, (0, 0.0))
        self._took[part.grid.label] = queries + part.queries, took + seconds
        self.skip(part)
        self.done += part.queries
        if not self.show:
            return
        left, count = sum(self.left.values()), self._workers()
        line = f"{self.title}: {100 * self.done / max(self.done + left, 1):.0f}%, {self._speed()}"
        line += "" if count is None else f", {count} worker{'s' * (count != 1)}"
        line += f", {self.time_left()}" if left else ""
        if self._bar is not None:
            self._bar.update(0, completed=self.done, total=self.done + left, description=line)
        elif time.monotonic() - self.spoken > EVERY:
            self.spoken = time.monotonic()
            self.note(line)

    def time_left(self) -> str:
        """The time left in words; "at least" while some method has no finished part."""
        each = {label: seconds / max(queries, 1) for label, (queries, seconds) in self._took.items()}
        work = sum(each.get(label, 0.0) * queries for label, queries in self.left.items())
        spent, elapsed = sum(took for _, took in self._took.values()), time.monotonic() - self.started
        untimed = any(queries and label not in each for label, queries in self.left.items())
        words = duration(work * elapsed / max(spent, 1e-9))  # as many workers side by side as so far
        return f"{'at least' if untimed else 'about'} {words} left"

    def _speed(self) -> str:
        speed = self.done / max(time.monotonic() - self.started, 1e-9)
        return f"{speed / 1e6:.1f} million queries/s" if speed >= 1e5 else f"{speed:,.0f} queries/s"

    def note(self, sentence: str) -> None:
        """Show a sentence that you should see even where progress is hidden."""
        if self._bar is not None:
            self._bar.console.print(sentence, highlight=False)
        else:
            print(sentence, file=sys.stderr, flush=True)


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
