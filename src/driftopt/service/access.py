"""Tokens with a role and, for some, one study; and what a route requires of the token that was sent."""

import hashlib
import hmac
import logging
import os
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

import fastapi
from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes

from driftopt import checks
from driftopt.service.errors import Refused
from driftopt.service.rate_limits import TooMany

ROLES = ("read", "operate", "admin")  # each includes the ones before it
VARIABLE = "DRIFTOPT_TOKEN"
EXAMPLE = "replace-this"  # how the secret of docs/guides/access.md begins
_SHORTEST, _LONGEST = 20, 500
_MAKE = "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes"
_log = logging.getLogger("driftopt.service")
_bearer = HTTPBearer(auto_error=False, description="A token of this server: `Authorization: Bearer …`")


@dataclass(frozen=True)
class Token:
    """A token of the server. The secret is not kept, only its hash."""

    name: str
    role: str
    study: str | None  # None: every study
    sha256: bytes

    def sees(self, study: str) -> bool:
        """True if the token is for that study or for all."""
        return self.study is None or self.study == study


def token(name: str, secret: str, role: str = "admin", study: str | None = None) -> Token:
    """A token from its secret; ValueError, which does not show the secret, if that is too easy to guess."""
    if not isinstance(secret, str) or not _SHORTEST <= len(secret) <= _LONGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"the secret of token {name!r} must have {_SHORTEST} to {_LONGEST} characters: {_MAKE} one"
        )
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError(f"the secret of token {name!r} must be printable ASCII without blanks")
    if secret.startswith(EXAMPLE):
        raise ValueError(
            f"the secret of token {name!r} is the example of the documentation, which everybody can read: "
            f"{_MAKE} another"
        )
    checks.choice(f"the role of token {name!r}", role, ROLES)
    if study is not None:
        checks.text(f"the study of token {name!r}", study)
    digest = hashlib.sha256(secret.encode()).digest()
    return Token(checks.text("the name of a token", name), role, study, digest)


class Tokens:
    """All tokens of a server."""

    def __init__(self, known: Sequence[Token]):
        if not known:
            raise ValueError("a server needs at least one token")
        for what, field in (("name", "name"), ("secret", "sha256")):
            if len({getattr(one, field) for one in known}) < len(known):
                raise ValueError(f"two tokens have the same {what}")
        self._known = tuple(known)

    def find(self, secret: str) -> Token | None:
        """The token with that secret. Every one is compared, each in constant time."""
        given = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        found = None
        for one in self._known:
            if hmac.compare_digest(one.sha256, given):
                found = one
        return found


def new_token() -> tuple[Tokens, str]:
    """A new token with the role admin, and its secret, which is kept nowhere."""
    secret = secrets.token_urlsafe(32)
    return Tokens([token("admin", secret)]), secret


def from_environment() -> Tokens | None:
    """The token in the environment, with the role admin; None if there is none."""
    secret = os.environ.get(VARIABLE)
    return None if secret is None else Tokens([token("admin", secret)])


def from_file(path: Path) -> Tokens:
    """The tokens of a file: a single line with one secret, or TOML with one [[token]] for each.

    A table has `name`, `secret`, `role` (read, operate or admin) and, if it is for one study, `study`.
    """
    try:
        text, mode = path.read_text(encoding="utf-8"), path.stat().st_mode
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ValueError(f"the token file {str(path)!a:.200} cannot be read: {said}") from None
    if os.name == "posix" and mode & 0o004:
        _log.warning(
            "driftopt: every user of this machine may read the tokens in %s: chmod 600 %s", path, path
        )
    if "[[" not in text:
        return Tokens([token("admin", text.strip())])
    try:
        tables: Any = tomllib.loads(text).get("token")
    except tomllib.TOMLDecodeError:
        raise ValueError(f"{path} is neither one secret nor TOML with [[token]] tables") from None
    if not isinstance(tables, list):
        raise ValueError(f"{path} has no [[token]] table")
    wanted = {"name", "secret", "role"}
    for number, table in enumerate(tables, start=1):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if not isinstance(table, dict) or not wanted <= set(table) <= wanted | {"study"}:  # pyright: ignore[reportUnknownArgumentType]
            raise ValueError(f"{path}: token {number} must have name, secret and role, and may have study")
    return Tokens([token(**table) for table in tables])  # pyright: ignore[reportUnknownVariableType]


def study_name(
    name: Annotated[
        str,
        fastapi.Path(
            description="The study's name, percent-encoded once.", examples=["prices"], max_length=2400
        ),
    ],
) -> str:
    """The name of the study in the path, decoded once.

    Routes are found in the path as it was sent: a name may hold a slash, and an encoded slash or dot leads to
    no other route.
    """
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        raise Refused(404, "no study has that name: it is not UTF-8", "NoSuchStudy") from None


StudyName = Annotated[str, Depends(study_name)]


def caller(
    scopes: SecurityScopes,
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Token:
    """The token of a request; `Refused` if it may not do this, TooMany after too many requests.

    `scopes` are the role that is needed and, for a route about the whole database, "all". Wrong tokens are
    counted by address, known ones by token. A known one passes even if many wrong ones came from its address:
    otherwise a client behind the same proxy could lock everybody out. Secrets are too long to be guessed.
    """
    service: Any = request.app.state.service
    found: Token | None = request.state.token  # the gate found it
    if found is None:
        wrong = credentials is not None
        if wrong and service.refusals.take(request.client.host if request.client else "unknown"):
            wait = 1 / service.limits.refusals_a_second
            raise TooMany("too many wrong tokens came from this address", wait)
        raise Refused(
            401,
            f"{'this token is not known' if wrong else 'no token was sent'}: send the header Authorization: "
            "Bearer TOKEN, with a token that the server was given or printed at its start",
            "Unauthorized",
            {"WWW-Authenticate": "Bearer"},
        )
    request.state.caller = found
    if wait := service.rate.take(found.name):
        raise TooMany(f"token {found.name!r} sends more requests than it may", wait)
    role, *concerns = scopes.scopes
    if ROLES.index(found.role) < ROLES.index(role):
        raise Refused(403, f"token {found.name!r} has the role {found.role}: this needs {role}", "Forbidden")
    name = request.path_params.get("name")
    if name is not None and not found.sees(study_name(name)):
        raise Refused(403, f"token {found.name!r} is for another study", "Forbidden")
    if concerns and found.study is not None:
        raise Refused(403, f"token {found.name!r} is for one study: this concerns all of them", "Forbidden")
    return found


# The token of a request, with at least that role, and for the study in the path
Reader = Annotated[Token, Security(caller, scopes=["read"])]
Admin = Annotated[Token, Security(caller, scopes=["admin"])]
# and for the whole database
ReaderOfAll = Annotated[Token, Security(caller, scopes=["read", "all"])]
AdminOfAll = Annotated[Token, Security(caller, scopes=["admin", "all"])]
