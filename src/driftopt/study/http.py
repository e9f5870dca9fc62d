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
from typing import Any, cast
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
        x0 = given.pop("x0")
        if isinstance(x0, Mapping) and decisions["names"] is None:
            x0, decisions["names"] = list(x0.values()), list(x0)
        space = Space.build(x0, **decisions)
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
        """The JSON at an address; None is left out of the query."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return self._patiently("GET", f"{path}?{given}" if given else path, None, {})

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None, keyed: bool = False) -> Any:
        """Do something; `keyed` where doing it twice would not be the same, with a key of its own if none."""
        headers = {"Content-Type": "application/json"} | (_keyed(key) if keyed else {})
        return self._patiently("POST", path, json.dumps(as_json(body), default=_unknown).encode(), headers)

    def delete(self, path: str, *, key: str | None = None, **query: str) -> Any:
        """Delete something; with a key, of its own if none is given, so that the same again is the same."""
        return self._patiently("DELETE", f"{path}?{urlencode(query)}", None, _keyed(key))

    def close(self) -> None:
        """Give all connections back; whoever goes on opens a new one."""
        _close_all(self._connections)

    def _patiently(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        """Send it, and again while the server is away, or asks to wait."""
        began, pause = time.monotonic(), 0.02
        while True:
            connection = self._connection()
            try:
                connection.request(method, self._prefix + path, body, {**self._headers, **headers})
                answer = connection.getresponse()
                content = answer.read()
            except _LOST as error:
                connection.close()  # it is opened again by the next request
                reason, wait = f"{type(error).__name__}: {error}", 0.0
            else:
                said = _said(content)
                if answer.status not in _PASSING:
                    return self._taken(answer, content, said)
                detail = said.get("detail") if isinstance(said, dict) else None
                reason, after = (
                    f"{answer.status}: {detail or 'it gave no reason'}",
                    answer.getheader("Retry-After", "0"),
                )
                wait = min(float(after), 5.0) if after.isdigit() else 0.0
            if time.monotonic() - began > GIVE_UP_AFTER:
                raise errors.DatabaseRefused(
                    f"{self.label} was waited for {GIVE_UP_AFTER:.0f} s ({reason}). Try again: nothing is "
                    "done twice"
                )
            time.sleep(max(wait, random.uniform(0, pause)))
            pause = min(2 * pause, 1.0)

    def _taken(self, answer: http.client.HTTPResponse, content: bytes, said: Any) -> Any:
        """The JSON of an answer; where the server refuses, the exception that Python would have raised."""
        start = checks.brief(content[:60].decode(errors="replace"))
        stranger = f"{self.label} answered {start}, which is no JSON: url must lead to `driftopt serve`"
        refused = ValueError if answer.status < 500 else errors.DatabaseRefused
        if 300 <= answer.status < 400:  # never followed: the token is for this server alone
            there = checks.brief(answer.getheader("Location", "nowhere"))
            raise ValueError(
                f"{self.label} answered {answer.status}, which leads to {there}. The token was not sent: "
                "give the server's own address as url"
            )
        if answer.status < 400:
            if said is None:  # a proxy's page to log in, say
                raise ValueError(stranger)
            return said
        if not isinstance(said, dict) or not {"detail", "kind"} <= set(cast(Any, said)):
            raise refused(f"{answer.status}: {stranger}")
        problem: dict[str, Any] = said
        found = getattr(errors, str(problem["kind"]), None)
        if isinstance(found, type) and issubclass(found, errors.NothingToAsk):
            raise found(problem["detail"], [errors.Holding(**one) for one in problem.get("holdings") or ()])
        if isinstance(found, type) and issubclass(found, errors.StudyError):
            raise found(problem["detail"])
        if answer.status in (401, 403):
            own = f". Here it is token=…, or {VARIABLE} in the environment" if answer.status == 401 else ""
            raise PermissionError(problem["detail"] + own)
        raise refused(problem["detail"])

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


def _said(content: bytes) -> Any:
    """The value of JSON; None if it is not JSON."""
    try:
        return json.loads(content)
    except ValueError:
        return None
