"""The server: its checks before it listens, its address, and a stop that finishes open requests."""

import asyncio
import logging
import os
import socket
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from driftopt.service import app as application
from driftopt.service.settings import Settings, everywhere, loopback

MOST_BYTES = 2**18  # that a connection may send before a request begins: a head, and the beginning of a body
_FINISH_WITHIN = 30  # seconds for open requests, when the server stops
_IDLE = 30  # seconds for which a connection is kept for the next request
_log = logging.getLogger("driftopt.service")
_base: Any = AutoHTTPProtocol


class _Impatient(_base):
    """uvicorn's protocol with a time limit and a size limit for the head of a request.

    uvicorn waits without a limit for the first byte and for the last of a head: a client with a thousand such
    connections would keep everybody else out.
    """

    head_seconds: float
    _timer: asyncio.TimerHandle | None = None
    _bytes = 0  # of a head that is not complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        # The gate limits bodies. All else is, or may be, a head: with an open stream too.
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
        """True while the server answers a request."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Server(uvicorn.Server):
    """uvicorn's server, which ends the streams of events first: they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, service: application.Service):
        super().__init__(config)
        self._service = service
        self.label = service.studies.place  # the database, as it may be shown

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish open requests, and accept nothing new."""
        self._service.stopping.set()
        self._service.studies.hurry()
        await super().shutdown(sockets)
        if self.abandoned:
            _log.warning("driftopt: %d requests would not end, and were not acknowledged", self.abandoned)
        _log.info("driftopt: stopped; all that was acknowledged is recorded")

    @property
    def abandoned(self) -> int:
        """The number of requests that would not end when the server stopped."""
        return self._service.abandoned


def check_exposure(host: str, certfile: Path | None, behind_proxy: bool, allowed: Sequence[str]) -> None:
    """Refuse to send tokens in the clear, or to answer to any name."""
    if loopback(host):
        return
    if certfile is None and not behind_proxy:
        raise ValueError(
            f"--host {host} can be reached from other machines, and tokens would travel in the clear: give "
            "--certfile and --keyfile, or --behind-proxy if a proxy that speaks TLS is before it"
        )
    if everywhere(host) and not allowed:
        raise ValueError(
            f"--host {host} needs --allow-host NAME for each name by which people will call this server: "
            "requests under any other name are refused, as other sites could send them"
        )


def check_folder(url: str) -> None:
    """Refuse an SQLite file in a folder that does not exist: the server would show no studies."""
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") or "://" not in url else ""
    if path and not Path(path).parent.is_dir():
        raise ValueError(f"there is no folder {Path(path).parent} for the database {Path(path).name}")


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; ValueError if another process has the port."""
    if not 0 <= port < 2**16:
        raise ValueError(f"the server cannot listen on port {port}: a port is 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ValueError(f"the server cannot listen on {host}, port {port}: {error}") from None
    # Connections inherit it: otherwise a body waits on Linux for 40 ms until its head is acknowledged.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def build(
    settings: Settings,
    *,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    proxies: Sequence[str] = (),
) -> Server:
    """A server that is ready to run on a listening socket."""
    app = application.build(settings)
    config = uvicorn.Config(
        app,
        http=type("Impatient", (_Impatient,), {"head_seconds": settings.limits.head_seconds}),
        ws="none",
        lifespan="on",
        log_config=None,  # the program's own logging
        access_log=False,  # the gate writes one without queries and headers
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        server_header=False,
        limit_concurrency=settings.limits.connections,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_FINISH_WITHIN,
        ssl_certfile=certfile,
        ssl_keyfile=keyfile,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"--certfile and --keyfile cannot be used: {error}") from None
    return Server(config, app.state.service)


def address(listening: socket.socket, tls: bool) -> str:
    """The server's address, as a link."""
    host, port = listening.getsockname()[:2]
    if everywhere(host):
        host = "[::1]" if ":" in host else "127.0.0.1"
    elif ":" in host:
        host = f"[{host}]"
    return f"{'https' if tls else 'http'}://{host}:{port}"


def run(server: Server, listening: socket.socket, secret: str | None) -> None:
    """Print the server's address, and serve until a signal stops it.

    Args:
        server: as `build` returns it.
        listening: its socket.
        secret: a new token, which is printed in the link; None for tokens that were given.
    """
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("driftopt").setLevel(logging.INFO)
    link = address(listening, server.config.ssl_certfile is not None)
    lines = [f"driftopt serves the studies of {server.label}", f"    {link}/docs"]
    if secret is not None:
        # Browsers keep what is after the sign # to themselves: it is in no request and no log.
        lines.append(f"    {link}/#token={secret}")
        lines.append("This token may do everything, until the server stops. Ctrl+C stops it.")
    else:
        lines += [f"    {link}/", "The page asks for a token that was given. Ctrl+C stops the server."]
    print("\n".join(lines), flush=True)
    with suppress(KeyboardInterrupt):  # uvicorn sends the signal on when all is finished
        server.run(sockets=[listening])
    if server.abandoned:  # a thread that hangs in a driver would keep the process for as long
        sys.stdout.flush()
        os._exit(0)
