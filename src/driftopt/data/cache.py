"""The folder that holds fetched files, and the check that a file is the one meant."""

import hashlib
import os
from pathlib import Path

from driftopt.data.registry import DataFile
from driftopt.runtime.files import cache_folder


class DataError(ValueError):
    """Data that is absent, damaged or out of reach; the message says how to go on."""


def folder() -> Path:
    """DRIFTOPT_DATA where it is set, else our own among the platform's caches. It may not exist yet."""
    if chosen := os.environ.get("DRIFTOPT_DATA"):
        return Path(chosen).expanduser()
    return cache_folder()


def location(file: DataFile) -> Path:
    """The path of the file, present or not."""
    return folder() / file.name


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def present(file: DataFile) -> bool:
    """True if the cache holds a file of that name, right or wrong."""
    return location(file).is_file()


def verified(file: DataFile) -> Path:
    """The path of the file in the cache, after its checksum has been compared."""
    path = location(file)
    if not path.is_file():
        how = f"run `driftopt data fetch {file.group}`, or " if file.fetchable else ""
        raise DataError(
            f"{file.name} is not in {folder()}: {how}set DRIFTOPT_DATA to a folder that holds it "
            f"(or `driftopt data fetch {file.group} --from FILE` for a local copy)"
        )
    if (found := digest(path)) != file.sha256:
        raise DataError(
            f"{path} is not the expected {file.name}: its SHA-256 is {found}, expected {file.sha256}; "
            f"remove it and fetch it again (`driftopt data fetch {file.group}`)"
        )
    return path
