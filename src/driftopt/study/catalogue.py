"""The studies of a database as a whole: which there are, delete one, take one up from an exported file."""

import os
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from driftopt import checks
from driftopt.study import log, log_file
from driftopt.study.http import ServiceClient, encoded, is_address, no_token
from driftopt.study.log import Database
from driftopt.study.records import StudySpec
from driftopt.study.study import Study


class Listed(NamedTuple):
    """One study of a database."""

    name: str  # by which it is opened
    created_at: float  # seconds since the epoch
    method: str  # by its name
    direction: str  # "minimize" or "maximize"
    dim: int  # numbers in a decision
    budget: int | None  # deployments, as last extended; None: without end
    spent: int  # deployments that count against the budget
    stopped: bool  # whether it was ended before its budget


def studies(url: str | os.PathLike[str] | Database, *, token: str | None = None) -> list[Listed]:
    """The studies that a database holds, or a server shows to the token, oldest first.

    Args:
        url: a database's address, a path, or a server's address.
        token: for a server, one of its tokens.
    """
    if isinstance(url, str) and is_address(url):
        found = ServiceClient(url, token).get("/v1/studies")["studies"]
        return [Listed(**one) for one in found]
    no_token(url, token)
    with _opened(url) as database:
        return [_listed(found) for found in log.studies.listed(database)]


@contextmanager
def _opened(url: str | os.PathLike[str] | Database) -> Generator[Database]:
    """A database that is open: over new connections, or over its own."""
    if isinstance(url, Database):
        yield url
    else:
        with closing(Database(url)) as database:
            yield database


def _listed(found: log.studies.Standing) -> Listed:
    spec = StudySpec.from_json(found.spec)
    budget = spec.budget if found.extended is None else int(found.extended)
    plan = (spec.method, spec.direction, spec.dim, budget)
    return Listed(found.name, found.created_at, *plan, found.spent, bool(found.stopped))


def delete(
    url: str | os.PathLike[str] | Database, name: str, *, token: str | None = None, key: str | None = None
) -> int:
    """Delete a study and its log; returns how many rows that were.

    Args:
        url: where it is kept: a database, or the address of a server.
        name: the study's name there.
        token: for a server, one of its tokens; by default the environment's DRIFTOPT_TOKEN.
        key: a word for this request: the same again gives the same number, and deletes nothing more.
    """
    if isinstance(url, str) and is_address(url):
        client = ServiceClient(url, token)
        return client.delete(f"/v1/studies/{encoded(name)}", key=key, confirm=name)["rows"]
    no_token(url, token)
    request = None if key is None else log.Request.of(checks.text("key", key), 0, "delete", name)
    with _opened(url) as database:
        return log.studies.delete(database, name, request, time.time())


def load(
    url: str | os.PathLike[str],
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    token: str | None = None,
) -> Study:
    """Take up a study from a .json file that `export` wrote.

    Args:
        url: the database that is to hold it, or the address of a server.
        path: the file.
        name: another name for it.
        token: for a server, one of its tokens; by default the environment's DRIFTOPT_TOKEN.

    Raises:
        ValueError: the file is not one that `export` wrote, or was changed since.
        StudyExists: the database holds a study of that name.
    """
    file = Path(path)
    if isinstance(url, str) and is_address(url):
        given = log_file.parts(file)
        new = str(checks.text("name", given["study"] if name is None else name))
        ServiceClient(url, token).post(f"/v1/studies:import?name={encoded(new)}", given, keyed=True)
        return Study.open(url, new, token=token)
    no_token(url, token)
    found = log_file.read(file)
    new = str(checks.text("name", found.name if name is None else name))
    database = Database(url)
    try:
        add(database, new, found)
        return Study.open(database, new)
    except BaseException:
        database.close()
        raise


def add(database: Database, name: str, found: log_file.LogFile, key: str | None = None) -> None:
    """Take a study over into a database that is open; the same key again does nothing more."""
    said = (name, found.created_at, found.spec.as_json(), len(found.rows))
    request = None if key is None else log.Request.of(checks.text("key", key), 0, "import", *said)
    log.studies.add(database, name, found.spec.as_json(), found.created_at, found.rows, request)
