"""Refusals as problem+json (RFC 9457), with the same sentences as Python's exceptions.

`kind` is the name of the exception, so that a client in Python raises the same one.
"""

import math
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from driftopt.packages import MissingPackage
from driftopt.service import invalid
from driftopt.service.rate_limits import TooMany
from driftopt.study import (
    BudgetSpent,
    Conflict,
    DatabaseRefused,
    Halted,
    NoSuchStudy,
    NothingToAsk,
    StudyError,
    StudyExists,
    UnknownTrial,
)

MEDIA = "application/problem+json"
LONGEST_WAIT = 3600

_TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "This is not allowed",
    404: "There is no such thing",
    405: "This cannot be done here",
    408: "The request took too long to arrive",
    409: "This contradicts what is recorded",
    410: "The budget is spent",
    413: "The request is too large",
    415: "Only JSON is taken",
    421: "The server is not known by this name",
    422: "The request asks for something impossible",
    423: "Nothing can be asked now",
    429: "Too many requests",
    500: "Something is wrong at the server",
    503: "The server cannot do this now",
}
# The first that fits.
_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (BudgetSpent, 410),
    (NothingToAsk, 423),
    (Halted, 423),
    (Conflict, 409),
    (StudyExists, 409),
    (NoSuchStudy, 404),
    (UnknownTrial, 404),
    (TooMany, 429),
    (DatabaseRefused, 503),
    (TimeoutError, 503),
    (StudyError, 500),
    (MissingPackage, 422),
    (ValueError, 422),
)


class Refused(HTTPException):
    """A refusal that is no exception of a study: what is missing, or who may not."""

    def __init__(self, status: int, detail: str, kind: str, headers: Mapping[str, str] | None = None):
        super().__init__(status, detail, dict(headers or {}))
        self.kind = kind


def problem(
    status: int, detail: str, kind: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """One refusal."""
    title = _TITLES.get(status, "The request is refused")
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "kind": kind} | more
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA)


def answer(error: Exception, now: float, for_one_study: bool = False) -> JSONResponse:
    """The refusal for an exception of a study, or of this room; a token for one study learns of no other."""
    status = next(status for kind, status in _STATUSES if isinstance(error, kind))
    more: dict[str, Any] = {}
    headers: dict[str, str] = {}
    if isinstance(error, NothingToAsk):
        more["holdings"] = [
            {"id": one.id, "holder": one.holder, "expires_at": one.expires_at} for one in error.holdings
        ]
    if status in (423, 429, 503):
        headers["Retry-After"] = str(_wait(error, now))
    return problem(status, _sentence(error, for_one_study), type(error).__name__, headers, **more)


def _sentence(error: Exception, for_one_study: bool) -> str:
    """The exception's own, unless it names the database and all that it holds to one who may not know."""
    hidden = for_one_study and isinstance(error, NoSuchStudy)
    return "the server holds no study of that name" if hidden else str(error)


def _wait(error: Exception, now: float) -> int:
    """Whole seconds after which to try again: until the first lease ends, but at most an hour."""
    if isinstance(error, TooMany):
        return max(1, math.ceil(error.wait))
    ends = [one.expires_at for one in getattr(error, "holdings", ()) if one.expires_at is not None]
    if isinstance(error, NothingToAsk):
        return min(LONGEST_WAIT, max(1, math.ceil(min(ends, default=now + 60) - now)))
    return 5


def http_problem(_: Request, error: Exception) -> JSONResponse:
    """What the router refuses."""
    assert isinstance(error, HTTPException)
    kind = error.kind if isinstance(error, Refused) else "HTTPError"
    detail = error.detail if isinstance(error, Refused) else _ROUTER.get(error.status_code, error.detail)
    return problem(error.status_code, str(detail), kind, error.headers)


_ROUTER = {
    400: "the body is not JSON that can be read, or is nested too deeply",
    404: "there is nothing at this address; /docs shows what there is",
    405: "this address does not take this method; /docs shows what it takes",
}


def invalid_problem(_: Request, error: Exception) -> JSONResponse:
    """What does not fit the models, in Python's sentences."""
    assert isinstance(error, RequestValidationError)
    found = invalid.faults(error.errors()[:200], error.body)
    return problem(422, "; ".join(one["what"] for one in found[:3]), "ValueError", errors=found)
