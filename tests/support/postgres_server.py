"""A PostgreSQL server of its own, in a folder of its own, on a Unix socket alone."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def installed() -> bool:
    """Whether this machine has the programs."""
    return shutil.which("initdb") is not None and shutil.which("pg_ctl") is not None


def _as_server_user(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else command


def _run(*command: str) -> None:
    done = subprocess.run(
        _as_server_user(list(command)), capture_output=True, text=True, cwd="/", check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"


@contextmanager
def postgres_server(options: str = "") -> Generator[str]:
    """The URL of a server that lives as long as the context; `options` are the server's own."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path may have 107 characters
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    _run("initdb", "--no-sync", "--auth=trust", "--username=postgres", "-D", str(data))
    how = f"-k {folder} -c listen_addresses='' {options}"
    _run("pg_ctl", "-D", str(data), "-o", how, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        _run("pg_ctl", "-D", str(data), "-m", "fast", "-w", "stop")
        shutil.rmtree(folder)


def restart(url):
    """Stop and start the PostgreSQL server behind a URL; an SQLite file has none."""
    if url.startswith("postgresql"):
        folder = Path(url.rsplit("host=", 1)[1])
        _run("pg_ctl", "-D", str(folder / "data"), "-m", "fast", "-w", "-l", str(folder / "log"), "restart")
