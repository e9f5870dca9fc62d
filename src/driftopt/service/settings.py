"""What a server is told at its start, with every default in one place."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from driftopt.service.tokens import Tokens


@dataclass(frozen=True)
class ClientLimits:
    """What one client may take; more is refused with a sentence."""

    body_bytes: int = 2**20
    body_seconds: float = 10.0  # until a request's body must be here
    head_seconds: float = 10.0  # until a request's headers must be here
    work_seconds: float = 90.0  # longer than a database is waited for
    requests_a_second: float = 2000.0  # of one token; short bursts of as many pass
    refusals_a_second: float = 5.0  # wrong tokens from one address
    refusals_at_once: float = 20.0
    strangers_a_second: float = 200.0  # requests without a known token from one address
    strangers_at_once: float = 400.0
    streams: int = 200  # open streams of events, in all
    streams_of_a_token: int = 20
    connections: int = 1000
    answers: int = 1000  # in one batch
    page: int = 1000  # trials in one answer


@dataclass(frozen=True)
class Settings:
    """The database, who may come in, and from where."""

    url: str
    tokens: Tokens
    hosts: frozenset[str] = frozenset({"127.0.0.1", "localhost", "[::1]"})
    origins: frozenset[str] = frozenset()  # of pages elsewhere that may use the service
    tls: bool = False
    limits: ClientLimits = field(default_factory=ClientLimits)
    clock: Callable[[], float] = time.time
    log_requests: bool = False
