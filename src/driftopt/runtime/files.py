"""The one way to write a file: under another name in its folder, flushed to the disk, then renamed.

A reader finds the old file, the new one, or none, also after a crash or a full disk: never a part of one. Any
number of threads, processes and machines may write the same path together; the last rename wins.
"""

import errno
import os
import secrets
import stat
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class WriteError(OSError, ValueError):
    """A file or folder that cannot be written; the message says why and how to go on."""


class UntrustedError(PermissionError):
    """A file or folder that somebody else may have written."""


def write_whole(
    path: str | os.PathLike[str], content: bytes, *, private: bool = False, lasting: bool = True
) -> None:
    """Put `content` at `path`: all of it or nothing.

    Args:
        path: where the file shall be. Its folder must exist; a link is followed, unless `private`.
        content: every byte of the file.
        private: only its owner may read and write it. Otherwise the permissions are those of the file that
            is replaced, or the user's usual ones.
        lasting: on the disk when this returns. What can be made again need not be: a power cut may empty it.

    Raises:
        WriteError: the reason, and what to do. The old file, if there was one, is untouched.
    """
    # A private file takes a link's place: what it points to may not be private.
    goal, what = Path(path) if private else Path(os.path.realpath(path)), f"cannot write {path}"
    beside = goal.with_name(f".driftopt-{os.getpid()}-{threading.get_ident()}-{secrets.token_hex(8)}")
    mode = _permissions(goal, private, what)
    try:
        with open(beside, "xb", opener=partial(os.open, mode=0o600 if private else 0o666)) as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())  # a rename may otherwise reach the disk before the content does
        if mode is not None:
            beside.chmod(mode)
        if lasting:
            put_in_place(beside, goal)
        else:
            os.replace(beside, goal)
    except OSError as error:
        raise _sentence(what, error) from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def put_in_place(beside: Path, goal: Path) -> None:
    """Rename a file of the same folder, whose content is on the disk, to its place."""
    os.replace(beside, goal)
    with suppress(OSError):  # the disk must know the new name, where the system lets a folder be opened
        handle = os.open(goal.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cache_folder() -> Path:
    """Our own folder among the platform's caches, where XDG_CACHE_HOME says. It may not exist yet."""
    import platformdirs

    return platformdirs.user_cache_path("driftopt", appauthor=False)


def make_folder(folder: str | os.PathLike[str], *, private: bool = False) -> Path:
    """The folder, made with its parents if it does not exist, and writable.

    Args:
        folder: where it shall be.
        private: only its owner may look into it, if it is made now.

    Raises:
        WriteError: it cannot be made, or not be written.
    """
    path = Path(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700 if private else 0o777, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _sentence(f"cannot write into {path}", error) from None
    return path


def read_own(path: str | os.PathLike[str]) -> bytes:
    """The content of a file that nobody but the caller can have written.

    Raises:
        FileNotFoundError: it does not exist.
        UntrustedError: it belongs to somebody else, or others may write it.
        OSError: it is a folder, a pipe or a device, or cannot be read.
    """
    # The file that was opened is the one that is looked at: between a look and a read it could be exchanged.
    # O_NONBLOCK: to open a pipe would otherwise wait for somebody who writes into it.
    flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
    handle = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a plain file", os.fspath(path))
        if reason := _others_may_write(found):
            raise UntrustedError(f"{path} {reason}")
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def check_own_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder that is not the caller's own, or that others may write.

    Raises:
        UntrustedError: whose it is, or who may write it.
    """
    if reason := _others_may_write(os.stat(folder)):
        raise UntrustedError(f"{folder} {reason}")


def _others_may_write(found: os.stat_result) -> str:
    if not hasattr(os, "geteuid"):  # Windows: a user's cache folder is his own
        return ""
    if found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid}, not to you (user {os.geteuid()})"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (its mode is {stat.S_IMODE(found.st_mode):o})"
    return ""


def _permissions(goal: Path, private: bool, what: str) -> int | None:
    """The permissions of the file that will be replaced; None for the usual ones."""
    if not goal.parent.is_dir():
        raise WriteError(f"{what}: the folder {goal.parent} does not exist; make it first, or choose another")
    try:
        if private or not goal.exists():
            return None
        found = goal.stat().st_mode
        if not stat.S_ISREG(found):
            raise WriteError(f"{what}: it exists and is not a file; choose another name")
        if not os.access(goal, os.W_OK):  # a rename would not ask
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except WriteError:
        raise
    except OSError as error:
        raise _sentence(what, error) from None
    return stat.S_IMODE(found)


def _sentence(what: str, error: OSError) -> WriteError:
    advice = "repair it, or choose another place"
    if error.errno in _FULL:
        advice = "free some space, or choose another place"
    if error.errno in _FORBIDDEN:
        advice = "make it writable, or choose another place"
    if error.errno == errno.ENAMETOOLONG:
        advice = "choose a shorter name"
    return WriteError(f"{what}: {error.strerror or error}; {advice}")
