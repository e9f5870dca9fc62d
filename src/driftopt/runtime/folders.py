"""Folders of files that are complete or absent: on this machine, on a shared disk, or in an object store.

An address with a scheme, as in "s3://bucket/results", is opened by fsspec. Object stores show an object when
all of it has arrived; elsewhere a file is written under another name and renamed.
"""

import secrets
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

from driftopt import checks
from driftopt.packages import package
from driftopt.runtime.files import WriteError, make_folder, write_whole

# Stores that never show half an object.
WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "r2"}
LISTED = 5.0  # seconds for which a list of names in a store is taken to be the latest


class Folder(ABC):
    """A folder. Names are of files within it, with `/` between folders."""

    name: str

    @abstractmethod
    def has(self, file: str) -> bool:
        """Whether the file exists, as far as is known without asking too often."""

    @abstractmethod
    def read(self, file: str) -> bytes:
        """The content of a file; FileNotFoundError if it does not exist."""

    @abstractmethod
    def write(self, file: str, content: bytes) -> None:
        """Write a file, all of it or nothing; a WriteError says why it failed."""

    @abstractmethod
    def remove(self, file: str) -> None:
        """Delete a file, if it exists and can be deleted."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The files in a folder within it; none if the folder does not exist."""


def folder_at(given: Any) -> Folder:
    """The folder at a path or an address.

    Raises:
        ValueError: no path, or no address that fsspec can open.
        MissingPackage: fsspec, or what it needs for such an address, is not installed.
    """
    if isinstance(given, str) and "://" in given and not given.startswith("file://"):
        return StoreFolder(given)
    return DiskFolder(
        checks.path("folder", given.removeprefix("file://") if isinstance(given, str) else given)
    )


class DiskFolder(Folder):
    """A folder on a disk of this machine, or one that machines share."""

    def __init__(self, folder: Path):
        self.folder, self.name = folder, str(folder)

    def make(self, folder: str) -> None:
        """Make a folder within it."""
        make_folder(self.folder / folder)

    def has(self, file: str) -> bool:
        return (self.folder / file).is_file()

    def read(self, file: str) -> bytes:
        return (self.folder / file).read_bytes()

    def write(self, file: str, content: bytes) -> None:
        write_whole(self.folder / file, content)

    def remove(self, file: str) -> None:
        with suppress(OSError):
            (self.folder / file).unlink()

    def names(self, folder: str) -> list[str]:
        inside = self.folder / folder
        return [path.name for path in inside.iterdir()] if inside.is_dir() else []


class StoreFolder(Folder):
    """An address that fsspec opens."""

    def __init__(self, address: str):
        fsspec = package("fsspec", "fsspec", f"the folder {address}")
        try:
            self._files, root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise ValueError(f"folder {address} cannot be opened: {error}") from None
        self.name, self._root, self._abstract = address, root.rstrip("/"), fsspec.AbstractFileSystem
        protocols = self._files.protocol
        self._whole = bool(WHOLE & set([protocols] if isinstance(protocols, str) else protocols))
        self._known: dict[str, tuple[float, set[str]]] = {}

    def has(self, file: str) -> bool:
        folder, _, name = file.rpartition("/")
        seen, names = self._known.get(folder, (-LISTED, set[str]()))
        if name not in names and time.monotonic() - seen >= LISTED:
            seen, names = self._known[folder] = (time.monotonic(), set(self.names(folder)))
        return name in names

    def read(self, file: str) -> bytes:
        return bytes(self._files.cat_file(f"{self._root}/{file}"))

    def write(self, file: str, content: bytes) -> None:
        folder, _, name = file.rpartition("/")
        goal = f"{self._root}/{file}"
        beside = goal if self._whole else f"{self._root}/{folder}/.driftopt-{secrets.token_hex(8)}"
        try:
            self._files.makedirs(f"{self._root}/{folder}", exist_ok=True)
            self._files.pipe_file(beside, content)
            if beside != goal and type(self._files).mv is not self._abstract.mv:
                self._files.mv(beside, goal)
            elif beside != goal:  # fsspec's own `mv` would take brackets in a name for a pattern
                self._files.cp_file(beside, goal)
                self._files.rm_file(beside)
        except Exception as error:  # every store has errors of its own
            raise WriteError(f"cannot write {self.name}/{file}: {error}") from None
        if folder in self._known:
            self._known[folder][1].add(name)

    def remove(self, file: str) -> None:
        self._known.clear()
        with suppress(Exception):
            self._files.rm_file(f"{self._root}/{file}")

    def names(self, folder: str) -> list[str]:
        self._files.invalidate_cache()  # others write here too
        try:
            found = self._files.ls(f"{self._root}/{folder}", detail=False)
        except FileNotFoundError:
            return []
        return [name for path in found if not (name := path.rpartition("/")[2]).startswith(".")]
