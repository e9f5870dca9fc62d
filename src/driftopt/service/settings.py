"""The server's settings with their defaults, and checks of the names and origins that it answers to."""

import ipaddress
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from driftopt.service.access import Tokens

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")
_ORIGIN = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")


@dataclass(frozen=True)
class ClientLimits:
    """Limits on one client; the server refuses more with a sentence."""

    body_bytes: int = 2**20
    body_seconds: float = 10.0  # until a request's body must be here
    head_seconds: float = 10.0  # until a request's headers must be here
    work_seconds: float = 90.0  # longer than driftopt waits for a database
    requests_a_second: float = 2000.0  # of one token, and the length of a burst
    refusals_a_second: float = 5.0  # wrong tokens from one address
    refusals_at_once: float = 20.0
    strangers_a_second: float = 200.0  # requests without a known token from one address
    strangers_at_once: float = 400.0
    streams: int = 200  # open streams of events, in all
    streams_of_a_token: int = 20
    connections: int = 1000


@dataclass(frozen=True)
class Settings:
    """The database, the tokens, and the hosts and origins that are allowed."""

    url: str
    tokens: Tokens
    hosts: frozenset[str] = frozenset(LOOPBACK)
    origins: frozenset[str] = frozenset()  # of pages elsewhere that may use the service
    tls: bool = False
    limits: ClientLimits = field(default_factory=ClientLimits)
    clock: Callable[[], float] = time.time
    log_requests: bool = False


def name_of(host: str) -> str | None:
    """The name in a Host header, without its port, in lower case; None if the header is not valid.

    >>> name_of("LocalHost:8000"), name_of("[::1]:80"), name_of("a@b"), name_of("")
    ('localhost', '[::1]', None, None)
    """
    found = _HOST.fullmatch(host)
    return None if found is None else found[1].lower().rstrip(".")


def allowed_hosts(bound: str, more: Iterable[str]) -> frozenset[str]:
    """The names to answer to: loopback, the address that the server is bound to, and `more`."""
    if not everywhere(bound):
        more = [*more, f"[{bound}]" if ":" in bound else bound]
    names: set[str] = set(LOOPBACK)
    for host in more:
        name = name_of(host)
        if name is None:
            raise ValueError(
                f"--allow-host must be a name such as shop.example, without http://; got {host!r}"
            )
        names.add(name)
    return frozenset(names)


def checked_origins(origins: Iterable[str]) -> frozenset[str]:
    """The origins in lower case, as browsers send them."""
    given = list(origins)
    for origin in given:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(
                f"--allow-origin must be like https://shop.example or http://localhost:3000; got {origin!r}"
            )
    return frozenset(origin.lower() for origin in given)


def everywhere(bound: str) -> bool:
    """True for an address that means all addresses of the machine."""
    return bound in ("", "0.0.0.0", "::", "[::]")


def loopback(bound: str) -> bool:
    """True for an address that only this machine can reach."""
    try:
        return bound == "localhost" or ipaddress.ip_address(bound.strip("[]")).is_loopback
    except ValueError:
        return False
