"""What every request passes before it is looked at, and every answer on its way out.

The path as it was sent; Host and Origin; the body whole, in time and not too large, and JSON; headers that
keep browsers from doing more than they should; a count and, if wished, a line in the log.
"""

import asyncio
import logging
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftopt.service import hosts
from driftopt.service.errors import answer, problem
from driftopt.service.rate_limits import Rate, TooMany
from driftopt.service.request_metrics import RequestMetrics
from driftopt.service.settings import Settings

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
# From a refused client so many times the largest body is read, and for no longer than this.
_DISCARDED_BODIES, _DISCARD_SECONDS = 8, 2.0
_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")
_log = logging.getLogger("driftopt.service")


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: RequestMetrics, strangers: Rate):
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._strangers = strangers
        headers = dict(_HEADERS)
        if not settings.origins:
            headers["Cross-Origin-Resource-Policy"] = "same-origin"
        if settings.tls:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the server's start and end."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._app(scope, receive, send)
            return
        began, status, started = time.perf_counter(), 500, False

        async def sent(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                self._put_headers(scope, message)
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

    def _put_headers(self, scope: Scope, message: Message) -> None:
        headers = MutableHeaders(raw=message.setdefault("headers", []))
        for name, value in self._headers.items():
            headers[name] = value
        if scope["path"].startswith("/v1/") or scope["path"] == "/metrics":
            headers["Cache-Control"] = "no-store"

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        # As it was sent: an encoded slash is no slash when routes are looked for.
        scope["path"] = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
        headers, more = Headers(scope=scope), True

        async def arriving() -> Message:
            nonlocal more
            message = await receive()
            more = message.get("more_body", False)
            return message

        refusal = self._too_many(scope) or self._refusal(scope)
        if refusal is None:
            body = await self._body(headers, arriving)
            if isinstance(body, bytes):
                through = _without_content if scope["method"] == "HEAD" else _plainly
                await through(self._app, scope, _with_body(body, receive), send)
                return
            refusal = body
        # A client that asked whether to send at all (Expect) has sent nothing yet.
        if more and "expect" not in headers:
            await self._discard(receive)
        await refusal(scope, receive, send)

    async def _discard(self, receive: Receive) -> None:
        """Reads on for a while what a refused client still sends, and keeps none of it.

        A connection closed on bytes that nobody read is reset, and takes the refusal with it before the
        client has seen it.
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

    def _too_many(self, scope: Scope) -> JSONResponse | None:
        """Whoever sends no token that is known may send so many from an address; others are counted later.

        So whoever has a token is never refused for what others at the same address do.
        """
        scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._settings.tokens.find(secret) is not None:
            return None
        client = scope.get("client")
        wait = self._strangers.take(client[0] if client else "unknown")
        if not wait:
            return None
        what = "too many requests without a known token came from this address"
        return answer(TooMany(what, wait), self._settings.clock())

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """What is wrong with a request's head, if something is."""
        headers = Headers(scope=scope)
        given = headers.getlist("host")
        name = hosts.name_of(given[0]) if len(given) == 1 else None
        if name not in self._settings.hosts:
            what = "this server does not answer to the name in the Host header; --allow-host NAME lets it"
            return problem(421, what, "WrongHost")
        origins = [origin.lower() for origin in headers.getlist("origin")]
        for origin in origins:
            if origin not in self._settings.origins and not hosts.same_origin(origin, given[0]):
                what = "a page of another origin may not use this server; --allow-origin ORIGIN lets it"
                return problem(403, what, "WrongOrigin")
        return None

    async def _body(self, headers: Headers, receive: Receive) -> bytes | JSONResponse:
        """The whole body, or why it is not taken."""
        limits = self._settings.limits
        length = headers.get("content-length", "0")
        too_large = problem(413, f"a body may have {limits.body_bytes} bytes", "TooLarge")
        if length.isdecimal() and int(length[:20]) > limits.body_bytes:
            return too_large
        given = headers.get("content-type")
        if given is not None and given.split(";")[0].strip().lower() != "application/json":
            return problem(415, "send JSON, with the header Content-Type: application/json", "NotJson")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return problem(400, "the connection was closed before the body was here", "Gone")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limits.body_bytes:
                        return too_large
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            return problem(408, f"the body was not here within {limits.body_seconds:g} s", "TooSlow")
        if size and given is None:
            return problem(415, "send JSON, with the header Content-Type: application/json", "NotJson")
        return b"".join(parts)


async def _plainly(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _without_content(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """HEAD: what GET would answer, without its content; a stream ends before it begins."""
    asked, over = {**scope, "method": "GET"}, asyncio.Event()

    async def listening() -> Message:
        """The body once, then that the client has gone: as soon as the head is sent."""
        if not said:
            said.append(True)
            return await receive()
        await over.wait()
        return {"type": "http.disconnect"}

    async def head(message: Message) -> None:
        if over.is_set():
            return
        if message["type"] == "http.response.start":
            await send(message)
        else:
            over.set()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    said: list[bool] = []
    try:
        await app(asked, listening, head)
    finally:
        scope["route"] = asked.get("route")


def _with_body(body: bytes, receive: Receive) -> Receive:
    """The body once; then whatever comes, which is that the client has gone."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
