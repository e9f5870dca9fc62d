"""The transport to a server of studies, which repeats requests where the connection is lost.

Looking changes nothing, a result that is reported again is the same result, and a request that hands
something out carries a key. So a request may be sent again when nobody knows whether the last one arrived.
"""

import http.client
import json
import os
import random
import threading
import time
import uuid
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from driftopt import checks
from driftopt.space import Space
from driftopt.study import errors
from driftopt.study.log import Database
from driftopt.study.records import StudySpec, answer_from_json, as_json
from driftopt.study.verbs import verb_of

VARIABLE = "DRIFTOPT_TOKEN"
GIVE_UP_AFTER = 60.0  # seconds that a server which is away is waited for
_ANSWER_WITHIN = 120.0  # longer than the server works on a request
_LOST = (OSError, http.client.HTTPException)
_PASSING = (429, 502, 503, 504)  # the server asks to wait, or a proxy before it says that it is away


def is_address(url: object) -> bool:
    """Whether it is a server's address, and no database.

    >>> is_address("http://127.0.0.1:8000"), is_address("shop.db"), is_address("postgresql://db/shop")
    (True, False, False)
    """
    return isinstance(url, str) and url.lower().startswith(("http://", "https://"))


def no_token(url: "str | os.PathLike[str] | Database", token: str | None) -> None:
    """A database needs no token: whoever gives one means a server."""
    if token is not None:
        raise ValueError("token is for a server, whose url begins with http:// or https://")


class Http:
    """The transport to a server: a verb is one request."""

    def __init__(self, client: "ServiceClient", name: str, plan: Mapping[str, Any]):
        self.name = name
        self.spec = StudySpec.from_json(json.dumps(plan["spec"]))
        self.label = self.place = client.label
        self.clock = time.time
        self._client = client
        self._at = f"/v1/studies/{encoded(name)}"

    @classmethod
    def open(cls, url: str, name: str, token: str | None) -> "Http":
        """A study that exists."""
        client = ServiceClient(url, token)
        return cls(client, name, client.get(f"/v1/studies/{encoded(name)}"))

    @classmethod
    def create(
        cls, url: str, name: str, token: str | None, key: str | None, options: Mapping[str, Any]
    ) -> "Http":
        """A new study; its decisions are checked here as they are there."""
        client, given = ServiceClient(url, token), dict(options)
        decisions = {part: given.pop(part, None) for part in ("names", "bounds", "constraints", "grid")}
        space = Space.build(given.pop("x0"), **decisions)
        if "units" in space.given:
            raise ValueError(
                "a Space with units cannot be sent to a server: give a radius for each coordinate"
            )
        if callable(given.get("objective")):
            raise ValueError(
                "a function cannot be sent to a server: objective must be one of the named kinds"
            )
        if isinstance(given.get("rng"), np.random.Generator):
            given["rng"] = int(given["rng"].integers(2**32))
        given |= space.given | {"x0": space.start.tolist(), "names": list(space.names)}
        plan = client.post("/v1/studies", {"name": name} | given, key=key, keyed=True)
        return cls(client, name, plan)

    def do(self, name: str, record: Any) -> Any:
        """The answer of a verb."""
        verb, body = verb_of(name), as_json(record)
        given = {part: value for part, value in body.items() if value is not None}
        path = self._at + verb.path.replace("{id}", str(given.get("id")))
        if "{id}" in verb.path:
            del given["id"]
        if verb.changes:
            key = given.pop("key", None)
            found = self._client.post(path, given, key=key, keyed="key" in body)
        else:
            query = {part: json.dumps(one) if isinstance(one, dict) else one for part, one in given.items()}
            found = self._client.get(path, **query)
        return answer_from_json(verb.answer_type, found)

    def do_together(self, name: str, records: Sequence[Any]) -> list[Any]:
        """For each record in turn its answer or its refusal."""
        outcomes: list[Any] = []
        for record in records:
            try:
                outcomes.append(self.do(name, record))
            except (errors.StudyError, ValueError) as error:
                outcomes.append(error)
        return outcomes

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()


class _ServerAnswer(NamedTuple):
    """What a server answered."""

    status: int
    content: bytes
    wait: float  # seconds, for which it asks to wait
    kind: str  # its Content-Type
    leads_to: str  # its Location


class ServiceClient:
    """One server, with a connection for each thread."""

    def __init__(self, url: str, token: str | None):
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if not host or parts.username or parts.query or parts.fragment:
            raise ValueError("url must be a server's address, such as https://shop.example:8000")
        secret = os.environ.get(VARIABLE) if token is None else token
        if not isinstance(secret, str) or not secret or not secret.isascii() or not secret.isprintable():
            raise ValueError(
                f"token must be a token of the server {host}; without one, {VARIABLE} of the environment is"
                " taken"
            )
        self.label = f"{parts.scheme.lower()}://{parts.netloc}{parts.path}".rstrip("/")
        self._tls = parts.scheme.lower() == "https"
        self._place = (host, port)
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {secret}", "Accept": "application/json"}
        self._mine = threading.local()
        self._connections: set[http.client.HTTPConnection] = set()
        weakref.finalize(self, _close_all, self._connections)  # one that is dropped gives them back

    def get(self, path: str, **query: Any) -> Any:
        """What JSON says there; None is left out of the query."""
        return self._read(self.content(path, **query))

    def content(self, path: str, **query: Any) -> bytes:
        """The bytes there."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return self._patiently("GET", f"{path}?{given}" if given else path, None, {})

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None, keyed: bool = False) -> Any:
        """Do something; `keyed` where doing it twice would not be the same, with a key of its own if none."""
        headers = {"Content-Type": "application/json"}
        if keyed:
            headers |= _keyed(key)
        content = json.dumps(as_json(body), default=_unknown).encode()
        return self._read(self._patiently("POST", path, content, headers))

    def delete(self, path: str, *, key: str | None = None, **query: str) -> Any:
        """Delete something; with a key, of its own if none is given, so that the same again is the same."""
        return self._read(self._patiently("DELETE", f"{path}?{urlencode(query)}", None, _keyed(key)))

    def close(self) -> None:
        """Give all connections back; whoever goes on opens a new one."""
        _close_all(self._connections)

    def _patiently(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        """Send it, and again while the server is away, or asks to wait."""
        began, pause = time.monotonic(), 0.02
        while True:
            try:
                answer = self._once(method, path, body, headers)
            except _LOST as error:
                self._connection().close()  # it is opened anew by the next request
                reason, wait = f"{type(error).__name__}: {error}", 0.0
            else:
                if answer.status not in _PASSING:
                    return self._taken(answer)
                reason, wait = f"{answer.status}: {_detail(answer.content)}", answer.wait
            if time.monotonic() - began > GIVE_UP_AFTER:
                raise errors.DatabaseRefused(
                    f"{self.label} was waited for {GIVE_UP_AFTER:.0f} s ({reason}). Try again: nothing is "
                    "done twice"
                )
            time.sleep(max(wait, random.uniform(0, pause)))
            pause = min(2 * pause, 1.0)

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> _ServerAnswer:
        connection = self._connection()
        connection.request(method, self._prefix + path, body, {**self._headers, **headers})
        answer = connection.getresponse()
        content = answer.read()
        after = answer.getheader("Retry-After", "0")
        wait = min(float(after), 5.0) if after.isdigit() else 0.0
        kind, leads_to = answer.getheader("Content-Type", ""), answer.getheader("Location", "nowhere")
        return _ServerAnswer(answer.status, content, wait, kind, leads_to)

    def _taken(self, answer: _ServerAnswer) -> bytes:
        """The content of what a server of studies answered; an exception where it refused, or is none."""
        if 300 <= answer.status < 400:  # never followed: the token is for this server alone
            raise ValueError(
                f"{self.label} answered {answer.status}, which leads to {checks.brief(answer.leads_to)}. The "
                "token was not sent there: give the server's own address as url"
            )
        if answer.status >= 400:
            return _raise(answer.status, answer.content, self._not_a_server(answer.content))
        if answer.kind.startswith("text/html"):  # a proxy's page to log in, say: no file of a study
            raise ValueError(self._not_a_server(answer.content))
        return answer.content

    def _read(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError:
            raise ValueError(self._not_a_server(content)) from None

    def _not_a_server(self, content: bytes) -> str:
        said = checks.brief(content[:60].decode(errors="replace"))
        return f"{self.label} answered {said}, which is no JSON: url must lead to `driftopt serve`"

    def _connection(self) -> http.client.HTTPConnection:
        if getattr(self._mine, "pid", None) != os.getpid():  # never the parent's after a fork
            self._mine.pid, self._mine.connection = os.getpid(), None
        if self._mine.connection is None:
            kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
            self._mine.connection = kind(*self._place, timeout=_ANSWER_WITHIN)
            self._connections.add(self._mine.connection)
        return self._mine.connection


def _close_all(connections: set[http.client.HTTPConnection]) -> None:
    for connection in connections:
        connection.close()


def encoded(name: str) -> str:
    """A study's name in an address."""
    return quote(str(checks.text("name", name)), safe="")


def _keyed(key: str | None) -> dict[str, str]:
    """A key as a header, whose value is Latin; a new one if none is given."""
    plain = uuid.uuid4().hex if key is None else quote(checks.text("key", key), safe=" !$&'()*+,/:;=?@[]")
    return {"Idempotency-Key": plain}


def _unknown(value: Any) -> Any:
    raise ValueError(f"{checks.brief(value)} cannot be sent to a server")


def _detail(content: bytes) -> str:
    try:
        return str(json.loads(content)["detail"])
    except (ValueError, KeyError, TypeError):
        return "it gave no reason"


def _raise(status: int, content: bytes, no_server: str) -> bytes:
    """The exception that Python would have raised there; `no_server` says what a stranger answered."""
    try:
        problem = json.loads(content)
        detail, kind = str(problem["detail"]), str(problem["kind"])
    except (ValueError, KeyError, TypeError):
        raise (ValueError if status < 500 else errors.DatabaseRefused)(f"{status}: {no_server}") from None
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, errors.NothingToAsk):
        raise found(detail, [errors.Holding(**one) for one in problem.get("holdings") or ()])
    if isinstance(found, type) and issubclass(found, errors.StudyError):
        raise found(detail)
    if status in (401, 403):
        own = f". Here it is token=…, or {VARIABLE} in the environment" if status == 401 else ""
        raise PermissionError(detail + own)
    raise (ValueError if status < 500 else errors.DatabaseRefused)(detail)
