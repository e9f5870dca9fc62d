"""Who may do what: secrets, each with a role and, if it is for one study alone, that study."""

import hashlib
import hmac
import logging
import os
import secrets
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftopt import checks

ROLES = ("read", "operate", "admin")  # each may do what those before it may
VARIABLE = "DRIFTOPT_TOKEN"
_SHORTEST, _LONGEST = 20, 500
EXAMPLE = "replace-this"  # how the secret of docs/service.md begins
_log = logging.getLogger("driftopt.service")


@dataclass(frozen=True)
class Token:
    """Somebody who may come in. The secret itself is not kept, only its hash."""

    name: str
    role: str
    study: str | None  # None: every study
    sha256: bytes

    def may(self, role: str) -> bool:
        """Whether its role is that one or more."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, study: str) -> bool:
        """Whether a study is its business."""
        return self.study is None or self.study == study


def token(name: str, secret: str, role: str = "admin", study: str | None = None) -> Token:
    """A token from its secret; ValueError, which does not show the secret, where it is too easy to guess."""
    if not isinstance(secret, str) or not _SHORTEST <= len(secret) <= _LONGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"the secret of token {name!r} must have {_SHORTEST} to {_LONGEST} characters: "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one"
        )
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError(f"the secret of token {name!r} must be printable ASCII without blanks")
    if secret.startswith(EXAMPLE):
        raise ValueError(
            f"the secret of token {name!r} is the example of the documentation, which everybody can read: "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes another"
        )
    checks.choice(f"the role of token {name!r}", role, ROLES)
    if study is not None:
        checks.text(f"the study of token {name!r}", study)
    return Token(
        checks.text("the name of a token", name), role, study, hashlib.sha256(secret.encode()).digest()
    )


class Tokens:
    """All tokens of a server."""

    def __init__(self, known: Sequence[Token]):
        if not known:
            raise ValueError("a server needs at least one token")
        for what in ("name", "sha256"):
            if len({getattr(one, what) for one in known}) < len(known):
                raise ValueError(f"two tokens have the same {'name' if what == 'name' else 'secret'}")
        self._known = tuple(known)

    def find(self, secret: str) -> Token | None:
        """Whose secret it is. Every known one is compared, each in constant time."""
        given = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        found = None
        for one in self._known:
            if hmac.compare_digest(one.sha256, given):
                found = one
        return found


def new_token() -> tuple[Tokens, str]:
    """A new token that may do everything, and its secret, which is told nobody else."""
    secret = secrets.token_urlsafe(32)
    return Tokens([token("admin", secret)]), secret


def from_environment() -> Tokens | None:
    """The token of the environment, which may do everything; None where there is none."""
    secret = os.environ.get(VARIABLE)
    return None if secret is None else Tokens([token("admin", secret)])


def from_file(path: Path) -> Tokens:
    """The tokens of a file: one secret on a line by itself, or TOML with one [[token]] for each.

    A table has `name`, `secret`, `role` (read, operate or admin) and, where it is for one study, `study`.
    """
    try:
        text, mode = path.read_text(encoding="utf-8"), path.stat().st_mode
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
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
    return Tokens([_from_table(path, number, table) for number, table in enumerate(tables, start=1)])  # pyright: ignore[reportUnknownArgumentType]


def _from_table(path: Path, number: int, table: Any) -> Token:
    wanted, optional = {"name", "secret", "role"}, {"study"}
    if not isinstance(table, dict) or not wanted <= set(table) <= wanted | optional:
        raise ValueError(f"{path}: token {number} must have name, secret and role, and may have study")
    return token(**table)
