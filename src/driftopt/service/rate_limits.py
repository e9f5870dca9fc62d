"""Limits on rates of requests and on open streams of events, for each client."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager

_MOST_CLIENTS = 10_000  # whose rate is remembered; the longest silent is forgotten first


class TooMany(Exception):
    """A client exceeded a limit; `wait` is the number of seconds after which it may try again."""

    def __init__(self, message: str, wait: float):
        super().__init__(message)
        self.wait = wait


class Rate:
    """A limit of `a_second` for each client, with bursts of `burst`: a bucket that fills with time."""

    def __init__(self, a_second: float, burst: float, clock: Callable[[], float] = time.monotonic):
        self._a_second, self._burst, self._clock = a_second, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> float:
        """Count one request; returns 0.0, or the seconds to wait if it is one too many."""
        now = self._clock()
        level, at = self._buckets.get(client, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._a_second)
        if level < 1:
            return (1 - level) / self._a_second
        self._buckets[client] = (level - 1, now)
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0


class Streams:
    """A limit on open streams of events, in all and for each token."""

    def __init__(self, most: int, most_of_a_token: int):
        self._most, self._most_of_a_token = most, most_of_a_token
        self.open: Counter[str] = Counter()

    @contextmanager
    def one(self, token: str) -> Generator[None]:
        """Count a stream while it is open."""
        mine = self.open[token]
        if self.open.total() >= self._most or mine >= self._most_of_a_token:
            raise TooMany(f"{mine} streams of events are open for this token: close one first", 10.0)
        self.open[token] += 1
        try:
            yield
        finally:
            self.open[token] -= 1
