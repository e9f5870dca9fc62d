"""How much of the server a client may take: rates and open streams."""

import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager

_MOST_CLIENTS = 10_000  # whose rate is remembered; the longest silent is forgotten first


class Rate:
    """So many a second for each client, and short bursts of `burst`: a bucket that fills as time goes by."""

    def __init__(self, a_second: float, burst: float, clock: Callable[[], float] = time.monotonic):
        self._a_second, self._burst, self._clock = a_second, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def left(self, client: str) -> float:
        """What the client may still do at once."""
        level, at = self._buckets.get(client, (self._burst, 0.0))
        return min(self._burst, level + (self._clock() - at) * self._a_second)

    def take(self, client: str) -> float:
        """Count one; returns 0.0, or where it is one too many how many seconds to wait."""
        level = self.left(client)
        if level < 1:
            return (1 - level) / self._a_second
        self._buckets[client] = (level - 1, self._clock())
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0


class TooMany(Exception):
    """More than a client may have; `wait` says for how many seconds."""

    def __init__(self, message: str, wait: float):
        super().__init__(message)
        self.wait = wait


class Streams:
    """Open streams of events, counted in all and for each token."""

    def __init__(self, most: int, most_of_a_token: int):
        self._most, self._most_of_a_token = most, most_of_a_token
        self._open: dict[str, int] = {}

    @property
    def open(self) -> int:
        """How many there are."""
        return sum(self._open.values())

    @contextmanager
    def one(self, token: str) -> Generator[None]:
        """Count a stream while it is open."""
        mine = self._open.get(token, 0)
        if self.open >= self._most or mine >= self._most_of_a_token:
            raise TooMany(f"{mine} streams of events are open for this token: close one first", 10.0)
        self._open[token] = mine + 1
        try:
            yield
        finally:
            self._open[token] -= 1
