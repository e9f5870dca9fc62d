"""Connections that do not wait for ever: a request's head must be whole in time, and not endless.

The server itself waits for the first byte, and for the last of a head, as long as a client likes; whoever
opens a thousand such connections would keep everybody else out.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MOST_BYTES = 2**18  # of what came before a request has begun: a head, and a body's beginning with it


_base: Any = AutoHTTPProtocol


def impatient(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, which closes a connection whose next request's head takes longer than that."""
    return type("Impatient", (_Impatient,), {"head_seconds": seconds})


class _Impatient(_base):
    head_seconds: float
    _timer: asyncio.TimerHandle | None = None
    _bytes = 0  # of a head that is not whole

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        # A body is the application's to limit; all else is, or may be, a head: beside an open stream too.
        self._bytes += 0 if self._busy and self.cycle.more_body else len(data)
        if self._bytes > MOST_BYTES:
            self.transport.close()
            return
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._bytes = 0
        if self._busy:
            self._stop()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
