"""Stores to run every study test on: an SQLite file, and a PostgreSQL server that the tests start."""

import warnings

import pytest
import sqlalchemy as sa

from support.postgres_server import installed, postgres_server

ABSENT = (
    "PostgreSQL IS NOT TESTED: initdb and pg_ctl are not on PATH. "
    "Install the package `postgresql` (and put its bin folder on PATH) to run these tests."
)


@pytest.fixture(scope="session")
def postgres():
    """The URL of a server that lives as long as the session."""
    if not installed():
        warnings.warn(pytest.PytestWarning(ABSENT), stacklevel=1)
        pytest.skip(ABSENT)
    with postgres_server("-c fsync=off") as url:
        yield url


@pytest.fixture
def postgres_url(postgres):
    """The server's database, emptied."""
    engine = sa.create_engine(postgres)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))
    engine.dispose()
    return postgres


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    """One conformance suite for every store."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture(params=["sqlite", "postgres", "http"])
def any_url(request):
    """Stores as above, and a server: what only the public methods of a study need is the same there."""
    return request.getfixturevalue(f"{request.param}_url")


class Clock:
    """Time that moves when a test says so."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()
