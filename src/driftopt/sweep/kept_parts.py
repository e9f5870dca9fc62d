"""The folder of finished parts: one file a part, whole or not there at all.

A part's file is written beside its place, flushed to the disk and renamed, so a crash leaves either nothing
or everything. Its name is the hash of all that defines the work; what cannot be read back is done again.
"""

import io
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from driftopt import checks
from driftopt.runtime.files import WriteError, make_folder, write_whole

Arrays = Mapping[str, np.ndarray]


class ResultsError(WriteError):
    """The results folder cannot be used; the message says what is safe and how to go on."""


class Store:
    """Finished parts under `folder`/parts; with no folder, they live in memory. `fresh` finds none."""

    def __init__(
        self,
        folder: str | Path | None,
        warn: Callable[[str], None] = lambda _: None,
        *,
        fresh: bool = False,
    ):
        self.folder = None if folder is None else checks.path("folder", folder)
        self._fresh = fresh
        self._warn = warn
        self._memory: dict[str, Arrays] = {}
        if self.folder is not None:
            try:
                make_folder(self.folder / "parts")
            except WriteError as error:
                raise ResultsError(f"{error} (--out on the command line)") from None

    def path(self, key: str) -> Path:
        """Where the part's file is, or would be."""
        assert self.folder is not None
        return self.folder / "parts" / f"{key}.npz"

    def get(self, key: str, check: Callable[[Arrays], None] = lambda _: None) -> Arrays | None:
        """The part, or None if it is not finished; a damaged file is reported, removed and None.

        Args:
            key: the hash of all that defines the work.
            check: raises a ValueError for arrays that cannot be what was asked for.
        """
        if self._fresh:
            return None
        if self.folder is None:
            return self._memory.get(key)
        path = self.path(key)
        if not path.is_file():
            return None
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}  # reading compares each part's checksum
            if str(arrays.pop("key")) != key:
                raise ValueError("it holds another part")
            check(arrays)
        except Exception as error:  # a damaged archive can say anything, that it is encrypted for one
            self._warn(f"{path} is damaged ({error}); this part runs again")
            with suppress(OSError):
                path.unlink()
            return None
        return arrays

    def put(self, key: str, arrays: Arrays) -> None:
        """Keep a finished part."""
        if self.folder is None:
            self._memory[key] = arrays
            return
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **{**arrays, "key": np.array(key)})
        with writing(self.folder):
            write_whole(self.path(key), buffer.getvalue())


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
