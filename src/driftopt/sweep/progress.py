"""How far a sweep is: a bar on a terminal, a line now and then elsewhere.

Both say how many workers there are, the queries per second and the time that is left.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

EVERY = 20.0  # seconds between lines where there is no terminal


def rate(queries: float, seconds: float) -> str:
    """Queries per second in words.

    >>> rate(3_000_000, 2)
    '1.5 million queries/s'
    """
    speed = queries / max(seconds, 1e-9)
    return f"{speed / 1e6:.1f} million queries/s" if speed >= 1e5 else f"{speed:,.0f} queries/s"


def duration(seconds: float) -> str:
    """A time in words, as exact as an estimate deserves.

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
    """A context: `advance` after each part, `note` for a sentence; `workers` says how many there are now."""

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
            self._say(f"{self.title}: {self.done:,} queries, {rate(self.done, self.seconds)}")

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started

    def skip(self, queries: int) -> None:
        """Work that was found finished: it leaves the total, so that the rate stays honest."""
        self.total -= queries
        if self._bar is not None:
            self._bar.update(self._task, total=self.total)

    def advance(self, queries: int) -> None:
        """So many more queries are done."""
        self.done += queries
        speed = rate(self.done, self.seconds) + self._crew()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, rate=speed)
        elif self.show and time.monotonic() - self.spoken > EVERY:
            self.spoken = time.monotonic()
            self._say(f"{self.title}: {100 * self.done / max(self.total, 1):.0f}%, {speed}{self._left()}")

    def _crew(self) -> str:
        count = self._workers() if self.show else None
        return "" if count is None else f", {count} worker{'s' * (count != 1)}"

    def _left(self) -> str:
        """The time that the rest takes at the rate so far."""
        if not 0 < self.done < self.total:
            return ""
        return f", about {duration(self.seconds * (self.total - self.done) / self.done)} left"

    def note(self, sentence: str) -> None:
        """A sentence the user should see, whatever the mode."""
        if self._bar is not None:
            self._bar.console.print(sentence, highlight=False)
        else:
            self._say(sentence)

    def _say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)
