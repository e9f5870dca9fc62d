"""The server's start and end: refuses to be careless, says where it is, and finishes what it has begun."""

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

from driftopt.service import app as application
from driftopt.service import hosts
from driftopt.service.impatience import impatient
from driftopt.service.settings import Settings

_log = logging.getLogger("driftopt.service")
_FINISH_WITHIN = 30  # seconds for open requests, when the server is asked to stop
_IDLE = 30  # seconds that a connection is kept for the next request


class Server(uvicorn.Server):
    """uvicorn's, which ends the streams of events first: they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, service: application.Service):
        super().__init__(config)
        self._service = service

    @property
    def label(self) -> str:
        """The database, as it may be shown."""
        return self._service.studies.place

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what is begun, and take nothing new."""
        self._service.stopping.set()
        self._service.studies.hurry()
        await super().shutdown(sockets)
        if self.abandoned:
            _log.warning("driftopt: %d requests would not end, and were not acknowledged", self.abandoned)
        _log.info("driftopt: stopped; all that was acknowledged is recorded")

    @property
    def abandoned(self) -> int:
        """How many requests would not end when the server stopped."""
        return self._service.abandoned


def check_exposure(host: str, certfile: Path | None, behind_proxy: bool, allowed: Sequence[str]) -> None:
    """Refuse what would send tokens in the clear, or answer to any name."""
    if hosts.loopback(host):
        return
    if certfile is None and not behind_proxy:
        raise ValueError(
            f"--host {host} can be reached from other machines, and tokens would travel in the clear: give "
            "--certfile and --keyfile, or --behind-proxy if a proxy that speaks TLS stands before it"
        )
    if hosts.everywhere(host) and not allowed:
        raise ValueError(
            f"--host {host} needs --allow-host NAME for each name by which people will call this server: "
            "requests under any other name are refused, as other sites could send them"
        )


def check_folder(url: str) -> None:
    """Refuse an SQLite file in a folder that is not there: it would look like a shop without studies."""
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:///") or "://" not in url else ""
    if path and not Path(path).parent.is_dir():
        raise ValueError(f"there is no folder {Path(path).parent} for the database {Path(path).name}")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; ValueError where another process does."""
    if not 0 <= port < 2**16:
        raise ValueError(f"the server cannot listen on port {port}: a port is 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ValueError(f"the server cannot listen on {host}, port {port}: {error}") from None
    # Connections inherit it: else an answer's body waits until its head is acknowledged, for 40 ms on Linux.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def build(
    settings: Settings,
    *,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    proxies: Sequence[str] = (),
) -> Server:
    """A server that is ready to run on a socket that listens."""
    app = application.build(settings)
    config = uvicorn.Config(
        app,
        http=impatient(settings.limits.head_seconds),
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
    """Where the server is, as a link."""
    host, port = listening.getsockname()[:2]
    if hosts.everywhere(host):
        host = "[::1]" if ":" in host else "127.0.0.1"
    elif ":" in host:
        host = f"[{host}]"
    return f"{'https' if tls else 'http'}://{host}:{port}"


def run(server: Server, listening: socket.socket, secret: str | None) -> None:
    """Say where the server is, and serve until a signal says stop.

    Args:
        server: what `build` made.
        listening: its socket.
        secret: a token that was made now, which is printed in the link; one that was given is not shown.
    """
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("driftopt").setLevel(logging.INFO)
    link = address(listening, server.config.ssl_certfile is not None)
    _say(f"driftopt serves the studies of {server.label}")
    _say(f"    {link}/docs")
    if secret is not None:
        # After the sign #, which browsers keep to themselves: it is in no request and no log.
        _say(f"    {link}/#token={secret}")
        _say("This token may do everything, until the server stops. Ctrl+C stops it.")
    else:
        _say(f"    {link}/")
        _say("The page asks for a token that was given. Ctrl+C stops the server.")
    with suppress(KeyboardInterrupt):  # uvicorn sends the signal on when all is finished
        server.run(sockets=[listening])
    if server.abandoned:  # a thread that hangs in a driver would keep the process for as long
        sys.stdout.flush()
        os._exit(0)


def _say(line: Any) -> None:
    print(line, flush=True)
