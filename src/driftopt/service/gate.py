"""Checks of every request before the application sees it, headers of every answer, and counts for Prometheus.

A page of another site can make a browser send requests here, and can let its own name point to this machine
(DNS rebinding): then the Host header is wrong. Requests without an Origin do not come from scripts.
Starlette's TrustedHostMiddleware takes a request with two Host headers, and its body limit has no time limit;
so these checks are here.
"""

import asyncio
import logging
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftopt.service.errors import Refused, answer, problem
from driftopt.service.rate_limits import Rate, TooMany
from driftopt.service.settings import Settings, name_of

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
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


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings, registry: CollectorRegistry, strangers: Rate):
        self._app, self._settings, self._strangers = app, settings, strangers
        # Names of studies are not among the labels.
        labels = ("method", "route")
        self._requests = Counter(
            "driftopt_requests", "Requests answered.", (*labels, "status"), registry=registry
        )
        self._seconds = Histogram(
            "driftopt_request_seconds", "How long answers took.", labels, buckets=_BUCKETS, registry=registry
        )
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
        # As it was sent: routes are found before an encoded slash is decoded.
        scope["path"] = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
        limits, headers = self._settings.limits, Headers(scope=scope)
        began, status, started, size, more = time.perf_counter(), 500, False, 0, True

        async def arriving() -> Message:
            """The next part of the body, which must be here in time and not be too large."""
            nonlocal size, more
            if not more:
                return await receive()
            left = limits.body_seconds - (time.perf_counter() - began)
            try:
                message = await asyncio.wait_for(receive(), left)
            except TimeoutError:
                what = f"the body was not here within {limits.body_seconds:g} s"
                raise Refused(408, what, "TooSlow") from None
            if message["type"] == "http.disconnect":
                raise Refused(400, "the connection was closed before the body was here", "Gone")
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
            if size > limits.body_bytes:
                raise Refused(413, f"a body may have {limits.body_bytes} bytes", "TooLarge")
            return message

        async def sent(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                found = MutableHeaders(raw=message.setdefault("headers", []))
                found.update(self._headers)
                if scope["path"].startswith("/v1/") or scope["path"] == "/metrics":
                    found["Cache-Control"] = "no-store"
                # A client that asked whether to send at all (Expect) has sent nothing yet.
                if status >= 400 and more and "expect" not in headers:
                    await self._discard(receive)
            await send(message)

        # HEAD is answered as GET: uvicorn leaves the content out, and `events` sends none.
        head = scope["method"] == "HEAD"
        asked = {**scope, "method": "GET", "only_head": True} if head else scope
        try:
            refusal = self._refusal(asked, headers)
            await (self._app(asked, arriving, sent) if refusal is None else refusal(scope, receive, sent))
        except Exception:
            _log.exception("a request failed, and nobody expected it")
            if started:
                raise
            what = "something went wrong at the server; its log says more"
            await problem(500, what, "ServerError")(scope, receive, sent)
        finally:
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in _METHODS else "other"
            route: Any = asked.get("route")
            labels = method, getattr(route, "path", "none")
            self._requests.labels(*labels, status).inc()
            self._seconds.labels(*labels).observe(seconds)
            if self._settings.log_requests:
                # The path alone, escaped: no query, no header, so that no token can get into a log.
                _log.info("%s %a %d %.1f ms", method, scope["path"][:300], status, 1000 * seconds)

    def _refusal(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        """The refusal for a request's head; None if it is allowed. Notes the token that it sent."""
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        token = self._settings.tokens.find(secret) if scheme.lower() == "bearer" else None
        scope.setdefault("state", {})["token"] = token
        # Requests with a known token are counted later, by token: others at their address cannot stop them.
        if token is None:
            client = scope.get("client")
            if wait := self._strangers.take(client[0] if client else "unknown"):
                what = "too many requests without a known token came from this address"
                return answer(TooMany(what, wait), self._settings.clock())
        hosts = headers.getlist("host")
        if len(hosts) != 1 or name_of(hosts[0]) not in self._settings.hosts:
            what = "this server does not answer to the name in the Host header; --allow-host NAME lets it"
            return problem(421, what, "WrongHost")
        own = {f"{scheme}://{hosts[0].lower()}" for scheme in ("http", "https")}
        if not {origin.lower() for origin in headers.getlist("origin")} <= own | self._settings.origins:
            what = "a page of another origin may not use this server; --allow-origin ORIGIN lets it"
            return problem(403, what, "WrongOrigin")
        length, limit = headers.get("content-length", "0"), self._settings.limits.body_bytes
        if length.isdecimal() and int(length[:20]) > limit:
            return problem(413, f"a body may have {limit} bytes", "TooLarge")
        kind = headers.get("content-type")
        has_body = length != "0" or "transfer-encoding" in headers
        if (has_body or kind is not None) and (kind or "").split(";")[
            0
        ].strip().lower() != "application/json":
            return problem(415, "send JSON, with the header Content-Type: application/json", "NotJson")
        return None

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
