"""Checks of every request before the application sees it, headers of every answer, and counts for Prometheus.

A request passes with its path as it was sent, an allowed Host and Origin, and a body that is complete, in
time, not too large, and JSON.
"""

import asyncio
import logging
import time
from collections import Counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftopt.service.errors import answer, problem
from driftopt.service.rate_limits import Rate, TooMany
from driftopt.service.settings import Settings, name_of, same_origin

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# The server reads this many of the largest bodies from a refused client, for at most these seconds.
_DISCARDED_BODIES, _DISCARD_SECONDS = 8, 2.0
_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_log = logging.getLogger("driftopt.service")


class RequestMetrics:
    """Requests by route and status, and their duration. Names of studies are not among the labels."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._buckets: dict[str, list[int]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request. Methods and routes are the program's: nothing in them needs escaping."""
        labels = f'method="{method}",route="{route}"'
        self._requests[labels, status] += 1
        self._seconds[labels] += seconds  # pyright: ignore[reportArgumentType]
        buckets = self._buckets.setdefault(labels, [0] * len(_BUCKETS))
        for i, most in enumerate(_BUCKETS):
            buckets[i] += seconds <= most

    def text(self, gauges: dict[str, tuple[str, float]]) -> str:
        """All counts in Prometheus's text format; `gauges` are present numbers, each with its help."""
        lines = [
            "# HELP driftopt_requests_total Requests answered.",
            "# TYPE driftopt_requests_total counter",
        ]
        for (labels, status), n in sorted(self._requests.items()):
            lines.append(f'driftopt_requests_total{{{labels},status="{status}"}} {n}')
        name = "driftopt_request_seconds"
        lines += [f"# HELP {name} How long answers took.", f"# TYPE {name} histogram"]
        for labels, buckets in sorted(self._buckets.items()):
            n = sum(count for (of, _), count in self._requests.items() if of == labels)
            for most, so_far in zip([*map(repr, _BUCKETS), "+Inf"], [*buckets, n], strict=True):
                lines.append(f'{name}_bucket{{{labels},le="{most}"}} {so_far}')
            lines += [f"{name}_sum{{{labels}}} {self._seconds[labels]!r}", f"{name}_count{{{labels}}} {n}"]
        for gauge, (words, value) in gauges.items():
            lines += [f"# HELP {gauge} {words}", f"# TYPE {gauge} gauge", f"{gauge} {value!r}"]
        return "\n".join(lines) + "\n"


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: RequestMetrics, strangers: Rate):
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._strangers = strangers
        self._headers = dict(_HEADERS)
        if not settings.origins:
            self._headers["Cross-Origin-Resource-Policy"] = "same-origin"
        if settings.tls:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the server's start and end."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, started = time.perf_counter(), 500, False

        async def sent(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                headers.update(self._headers)
                if scope["path"].startswith("/v1/") or scope["path"] == "/metrics":
                    headers["Cache-Control"] = "no-store"
            await send(message)

        try:
            await self._pass(scope, receive, sent)
        except Exception:
            _log.exception("a request failed, and nobody expected it")
            if started:
                raise
            what = "something went wrong at the server; its log says more"
            await problem(500, what, "ServerError")(scope, receive, sent)
        finally:
            seconds = time.perf_counter() - began
            route: Any = scope.get("route")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.count(method, getattr(route, "path", "none"), status, seconds)
            if self._settings.log_requests:
                # The path alone, escaped: no query, no header, so that no token can get into a log.
                _log.info("%s %a %d %.1f ms", method, scope["path"][:300], status, 1000 * seconds)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        # As it was sent: routes are found before an encoded slash is decoded.
        scope["path"] = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
        headers, more = Headers(scope=scope), True

        async def arriving() -> Message:
            nonlocal more
            message = await receive()
            more = message.get("more_body", False)
            return message

        refusal = self._refusal(scope, headers)
        if refusal is None:
            body = await self._body(headers, arriving)
            if isinstance(body, bytes):
                waiting = [body]

                async def once() -> Message:
                    """The body, and afterwards the client's disconnection."""
                    if waiting:
                        return {"type": "http.request", "body": waiting.pop(), "more_body": False}
                    return await receive()

                # HEAD is answered as GET: uvicorn leaves the content out, and `events` sends none.
                head = scope["method"] == "HEAD"
                asked = {**scope, "method": "GET", "only_head": True} if head else scope
                try:
                    await self._app(asked, once, send)
                finally:
                    scope["route"] = asked.get("route")
                return
            refusal = body
        # A client that asked whether to send at all (Expect) has sent nothing yet.
        if more and "expect" not in headers:
            await self._discard(receive)
        await refusal(scope, receive, send)

    async def _discard(self, receive: Receive) -> None:
        """Read for a while what a refused client still sends, and keep none of it.

        A connection that is closed with unread bytes is reset: the client would not see the refusal.
        """
        limits = self._settings.limits
        left = _DISCARDED_BODIES * limits.body_bytes
        try:
            async with asyncio.timeout(min(_DISCARD_SECONDS, limits.body_seconds)):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        """The refusal for a request's head; None if it is allowed."""
        # Requests with a known token are counted later, by token: others at their address cannot stop them.
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or self._settings.tokens.find(secret) is None:
            client = scope.get("client")
            if wait := self._strangers.take(client[0] if client else "unknown"):
                what = "too many requests without a known token came from this address"
                return answer(TooMany(what, wait), self._settings.clock())
        given = headers.getlist("host")
        name = name_of(given[0]) if len(given) == 1 else None
        if name not in self._settings.hosts:
            what = "this server does not answer to the name in the Host header; --allow-host NAME lets it"
            return problem(421, what, "WrongHost")
        for origin in headers.getlist("origin"):
            if origin.lower() not in self._settings.origins and not same_origin(origin.lower(), given[0]):
                what = "a page of another origin may not use this server; --allow-origin ORIGIN lets it"
                return problem(403, what, "WrongOrigin")
        return None

    async def _body(self, headers: Headers, receive: Receive) -> bytes | JSONResponse:
        """The whole body, or the refusal for it."""
        limits = self._settings.limits
        length = headers.get("content-length", "0")
        too_large = problem(413, f"a body may have {limits.body_bytes} bytes", "TooLarge")
        not_json = problem(415, "send JSON, with the header Content-Type: application/json", "NotJson")
        if length.isdecimal() and int(length[:20]) > limits.body_bytes:
            return too_large
        given = headers.get("content-type")
        if given is not None and given.split(";")[0].strip().lower() != "application/json":
            return not_json
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return problem(400, "the connection was closed before the body was here", "Gone")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limits.body_bytes:
                        return too_large
                    more = message.get("more_body", False)
        except TimeoutError:
            return problem(408, f"the body was not here within {limits.body_seconds:g} s", "TooSlow")
        return not_json if size and given is None else b"".join(parts)
