"""Under which names the server may be spoken to, and from which pages.

A page of another site can make a browser send requests here, and can let its own name point to this machine
(DNS rebinding): then the Host header gives it away. Requests that carry no Origin do not come from scripts.
"""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>\d{1,5}))?")
_ORIGIN = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")


def name_of(host: str) -> str | None:
    """The name in a Host header, without its port, in lower case; None where it is none.

    >>> name_of("LocalHost:8000"), name_of("[::1]:80"), name_of("a@b"), name_of("")
    ('localhost', '[::1]', None, None)
    """
    found = _HOST.fullmatch(host)
    return None if found is None else found["name"].lower().rstrip(".")


def allowed_hosts(bound: str, more: Iterable[str]) -> frozenset[str]:
    """The names to answer to: loopback, what the server is bound to, and what was allowed."""
    names = {*LOOPBACK, *(_checked(name) for name in more)}
    if not everywhere(bound):
        names.add(_checked(f"[{bound}]" if ":" in bound else bound))
    return frozenset(names)


def everywhere(bound: str) -> bool:
    """Whether an address means all of the machine's."""
    return bound in ("", "0.0.0.0", "::", "[::]")


def loopback(bound: str) -> bool:
    """Whether only this machine can reach an address."""
    if bound == "localhost":
        return True
    try:
        return ipaddress.ip_address(bound.strip("[]")).is_loopback
    except ValueError:
        return False


def _checked(host: str) -> str:
    name = name_of(host)
    if name is None:
        raise ValueError(f"--allow-host must be a name such as shop.example, without http://; got {host!r}")
    return name


def checked_origins(origins: Iterable[str]) -> frozenset[str]:
    """Origins as browsers send them."""
    given = list(origins)
    for origin in given:
        if not _ORIGIN.fullmatch(origin):
            raise ValueError(
                f"--allow-origin must be like https://shop.example or http://localhost:3000; got {origin!r}"
            )
    return frozenset(origin.lower() for origin in given)


def same_origin(origin: str, host: str) -> bool:
    """Whether a page came from the host that it speaks to.

    >>> same_origin("http://127.0.0.1:8000", "127.0.0.1:8000"), same_origin("null", "127.0.0.1:8000")
    (True, False)
    >>> same_origin("https://shop.example", "shop.example:443"), same_origin("http://a", "b")
    (True, False)
    """
    if not _ORIGIN.fullmatch(origin):
        return False
    parts = urlsplit(origin.lower())
    usual = {"http": "80", "https": "443"}[parts.scheme]
    there = (name_of(parts.netloc), str(parts.port or usual))
    found = _HOST.fullmatch(host)
    return found is not None and there == (name_of(host), found["port"] or usual)
