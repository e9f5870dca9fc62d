"""Stores to run every study test on: an SQLite file, and a PostgreSQL server that the tests start."""

import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import pytest
import sqlalchemy as sa

ABSENT = (
    "PostgreSQL IS NOT TESTED: initdb and pg_ctl are not on PATH. "
    "Install the package `postgresql` (and put its bin folder on PATH) to run these tests."
)


def _as_server_user(command):
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else command


def _run(*command):
    done = subprocess.run(
        _as_server_user(list(command)), capture_output=True, text=True, cwd="/", check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def postgres():
    """The URL of a server that lives as long as the session, on a Unix socket alone."""
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        warnings.warn(pytest.PytestWarning(ABSENT), stacklevel=1)
        pytest.skip(ABSENT)
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path may have 107 characters
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    _run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "-D", str(data))
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    _run("pg_ctl", "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        _run("pg_ctl", "-D", str(data), "-m", "fast", "-w", "stop")
        shutil.rmtree(folder)


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
