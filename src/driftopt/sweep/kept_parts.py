"""The folder of finished parts: one file a part, whole or not there at all.

A part's file is written beside its place, flushed to the disk and renamed, or put into an object store, so a
crash leaves either nothing or everything. Its name is the hash of all that defines the work; what cannot be
read back is done again.
"""

import io
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from driftopt.runtime.files import WriteError
from driftopt.runtime.folders import DiskFolder, Folder, folder_at

Arrays = Mapping[str, np.ndarray]


class ResultsError(WriteError):
    """The results folder cannot be used; the message says what is safe and how to go on."""


class Store:
    """Finished parts under `folder`/parts; with no folder, they live in memory. `fresh` finds none."""

    holds = True  # whether what is put there can be used without reading it again

    def __init__(
        self,
        folder: str | Path | None,
        warn: Callable[[str], None] = lambda _: None,
        *,
        fresh: bool = False,
    ):
        self.place: Folder | None = None if folder is None else folder_at(folder)
        self._fresh = fresh
        self._warn = warn
        self._memory: dict[str, Arrays] = {}
        if isinstance(self.place, DiskFolder):
            try:
                self.place.make("parts")
            except WriteError as error:
                raise ResultsError(f"{error} (--out on the command line)") from None

    @property
    def folder(self) -> str | None:
        """Where parts are kept, in words; None where they live in memory."""
        return None if self.place is None else self.place.name

    def get(self, key: str, check: Callable[[Arrays], None] = lambda _: None) -> Arrays | None:
        """The part, or None if it is not finished; a damaged file is reported, removed and None.

        Args:
            key: the hash of all that defines the work.
            check: raises a ValueError for arrays that cannot be what was asked for.
        """
        if self._fresh:
            return None
        if self.place is None:
            return self._memory.get(key)
        file = _file(key)
        if not self.place.has(file):
            return None
        try:
            with np.load(io.BytesIO(self.place.read(file)), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}  # compares each part's checksum
            if str(arrays.pop("key")) != key:
                raise ValueError("it holds another part")
            check(arrays)
        except Exception as error:  # a damaged archive can say anything, that it is encrypted for one
            self._warn(f"{self.place.name}/{file} is damaged ({error}); this part runs again")
            self.place.remove(file)
            return None
        return arrays

    def put(self, key: str, arrays: Arrays) -> Arrays:
        """Keep a finished part; what of it stays in memory."""
        if self.place is None:
            self._memory[key] = arrays
            return arrays
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{**arrays, "key": np.array(key)})
        with writing(self.place.name):
            self.place.write(_file(key), buffer.getvalue())
        return arrays


def _file(key: str) -> str:
    return f"parts/{key}.npz"


@contextmanager
def writing(folder: str | Path) -> Generator[None]:
    """A block that writes into the results folder; if it cannot, the error says what is safe."""
    try:
        yield
    except WriteError as error:
        raise ResultsError(
            f"{error}; everything finished before is safe in {folder}: "
            "give the same command again to go on from there"
        ) from None
