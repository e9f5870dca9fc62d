"""The studies of a database as a whole: which there are, delete one, take one up from an exported file."""

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from driftopt import checks
from driftopt.study import log, log_file
from driftopt.study.log import Database
from driftopt.study.service_client import ServiceClient, encoded, is_address, no_token
from driftopt.study.spec import Spec
from driftopt.study.study import Study


class Listed(NamedTuple):
    """One study of a database."""

    name: str
    created_at: float
    method: str
    direction: str
    dim: int
    budget: int
    spent: int


def studies(url: str | os.PathLike[str] | Database, *, token: str | None = None) -> list[Listed]:
    """The studies that a database holds, or a server shows to the token, oldest first."""
    if isinstance(url, str) and is_address(url):
        found = ServiceClient(url, token).get("/v1/studies")["studies"]
        return [Listed(**one) for one in found]
    no_token(url, token)
    with _opened(url) as database:
        return [_listed(found) for found in log.studies.listed(database)]


@contextmanager
def _opened(url: str | os.PathLike[str] | Database) -> Generator[Database]:
    """A database over connections of its own, or over those that are open already."""
    if isinstance(url, Database):
        yield url
    else:
        with closing(Database(url)) as database:
            yield database


def _listed(found: log.studies.Standing) -> Listed:
    spec = Spec.from_json(found.spec)
    plan = (spec.method, spec.direction, spec.dim, int(found.extended or spec.budget))
    return Listed(found.name, found.created_at, *plan, found.spent)


def delete(url: str | os.PathLike[str] | Database, name: str, *, token: str | None = None) -> int:
    """Delete a study and its log; returns how many rows that were."""
    if isinstance(url, str) and is_address(url):
        return ServiceClient(url, token).delete(f"/v1/studies/{encoded(name)}", confirm=name)["rows"]
    no_token(url, token)
    with _opened(url) as database:
        return log.studies.delete(database, name)


def load(url: str | os.PathLike[str], path: str | os.PathLike[str], name: str | None = None) -> Study:
    """Take up a study from a .json file that `export` wrote.

    Args:
        url: the database that is to hold it.
        path: the file.
        name: another name for it.

    Raises:
        ValueError: the file is not one that `export` wrote, or was changed since.
        StudyExists: the database holds a study of that name.
    """
    old, created_at, spec, rows = log_file.read(Path(path))
    new = str(checks.text("name", old if name is None else name))
    with closing(Database(url)) as database:
        log.studies.add(database, new, spec.as_json(), created_at, rows)
    return Study.open(url, new)
