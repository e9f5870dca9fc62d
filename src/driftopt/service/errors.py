"""Refusals as problem+json (RFC 9457), with the same sentences as Python's exceptions.

`kind` is the name of the exception, so that a client in Python raises the same one.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from driftopt import checks
from driftopt.packages import MissingPackage
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

TRY_AGAIN = (423, 429, 503)  # with Retry-After
# The first class that an exception is an instance of decides.
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


def described(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    """Refusals in the description of the interface."""
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    found: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        when = "; Retry-After says when to try again" if status in TRY_AGAIN else ""
        found[status] = {"description": HTTPStatus(status).phrase + when, "content": content}
    return found


class Refused(HTTPException):
    """A refusal without an exception of a study: something is missing or not allowed."""

    def __init__(self, status: int, detail: str, kind: str, headers: Mapping[str, str] | None = None):
        super().__init__(status, detail, dict(headers or {}))
        self.kind = kind


def problem(
    status: int, detail: str, kind: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """One refusal."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "kind": kind} | more
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=MEDIA)


def answer(error: Exception, now: float, for_one_study: bool = False) -> JSONResponse:
    """The refusal for an exception of a study or of the service.

    Args:
        error: the exception.
        now: the present time, in seconds since the epoch.
        for_one_study: the token is for one study, and must not learn about others or about the database.
    """
    status = next(status for kind, status in _STATUSES if isinstance(error, kind))
    hidden = for_one_study and isinstance(error, NoSuchStudy)
    detail = "the server holds no study of that name" if hidden else str(error)
    more: dict[str, Any] = {}
    wait = 5.0
    if isinstance(error, TooMany):
        wait = error.wait
    elif isinstance(error, NothingToAsk):
        more["holdings"] = [asdict(one) for one in error.holdings]
        ends = [one.expires_at for one in error.holdings if one.expires_at is not None]
        wait = min(LONGEST_WAIT, min(ends, default=now + 60) - now)  # until the first lease ends
    headers = {"Retry-After": str(max(1, math.ceil(wait)))} if status in TRY_AGAIN else {}
    return problem(status, detail, type(error).__name__, headers, **more)


def http_problem(_: Request, error: Exception) -> JSONResponse:
    """The refusal for an HTTPException: of the router, or `Refused`."""
    assert isinstance(error, HTTPException)
    if isinstance(error, Refused):
        return problem(error.status_code, error.detail, error.kind, error.headers)
    detail = {
        400: "the body is not JSON that can be read, or is nested too deeply",
        404: "there is nothing at this address; /docs shows what there is",
        405: "this address does not take this method; /docs shows what it takes",
    }.get(error.status_code, error.detail)
    return problem(error.status_code, detail, "HTTPError", error.headers)


def invalid_problem(_: Request, error: Exception) -> JSONResponse:
    """The refusal for something in the address or a header that does not fit."""
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    sentences = [
        f"{one['loc'][-1]}: {one['msg']}, got {checks.brief(one.get('input'))}" for one in faults[:3]
    ]
    return problem(422, "; ".join(sentences), "ValueError")
