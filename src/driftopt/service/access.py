"""What a route asks of whoever calls it: a role, and that the study in its path is his."""

from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from driftopt.service.errors import Refused
from driftopt.service.rate_limits import TooMany
from driftopt.service.tokens import Token

_bearer = HTTPBearer(auto_error=False, description="A token of this server: `Authorization: Bearer …`")


def study_name(
    name: Annotated[
        str,
        Path(description="The study's name, percent-encoded once.", examples=["prices"], max_length=2400),
    ],
) -> str:
    """The study in the path: routes are found in the path as it was sent, and names decoded afterwards, once.

    So a name may hold a slash, and no encoded slash or dot leads to another route.
    """
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        raise Refused(404, "there is no study of that name: it is no UTF-8", "NoSuchStudy") from None


StudyName = Annotated[str, Depends(study_name)]


def _caller(request: Request, credentials: HTTPAuthorizationCredentials | None) -> Token:
    """Whose token it is. Wrong ones are counted by address, right ones by token.

    A right one passes however many wrong ones came from its address: else whoever shares it, on one machine
    or behind one proxy, could lock everybody out. Secrets are too long to be guessed at any speed.
    """
    service: Any = request.app.state.service
    address = request.client.host if request.client else "unknown"
    found = None if credentials is None else service.settings.tokens.find(credentials.credentials)
    if found is None:
        wrong = credentials is not None
        if wrong and service.refusals.left(address) < 1:
            wait = 1 / service.limits.refusals_a_second
            raise TooMany("too many wrong tokens came from this address", wait)
        if wrong:
            service.refusals.take(address)
        what = "this token is not known" if wrong else "no token was sent"
        raise Refused(
            401,
            f"{what}: send the header Authorization: Bearer TOKEN, with a token that the server was given or "
            "printed at its start",
            "Unauthorized",
            {"WWW-Authenticate": "Bearer"},
        )
    request.state.caller = found
    if wait := service.rate.take(found.name):
        raise TooMany(f"token {found.name!r} sends more requests than it may", wait)
    return found


def _needs(role: str) -> Any:
    def check(
        request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None
    ) -> Token:
        caller = _caller(request, credentials)
        if not caller.may(role):
            raise Refused(
                403, f"token {caller.name!r} has the role {caller.role}: this needs {role}", "Forbidden"
            )
        return caller

    return check


def _needs_for_study(role: str) -> Any:
    check = _needs(role)

    def check_study(
        name: StudyName,
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None,
    ) -> Token:
        caller = check(request, credentials)
        if not caller.sees(name):
            raise Refused(403, f"token {caller.name!r} is for another study", "Forbidden")
        return caller

    return check_study


def whole_database(caller: Token) -> None:
    """Refuse a token that is for one study."""
    if caller.study is not None:
        raise Refused(403, f"token {caller.name!r} is for one study: this concerns all of them", "Forbidden")


# Whoever may …
Reader = Annotated[Token, Depends(_needs("read"))]
Admin = Annotated[Token, Depends(_needs("admin"))]
# … in the study that the path names
StudyReader = Annotated[Token, Depends(_needs_for_study("read"))]
StudyOperator = Annotated[Token, Depends(_needs_for_study("operate"))]
StudyAdmin = Annotated[Token, Depends(_needs_for_study("admin"))]
