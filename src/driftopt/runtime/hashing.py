"""One hash of several parts, such that no two lists of parts run together into the same bytes."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path


def hashed(*parts: str | bytes) -> bytes:
    """The SHA-256 of the parts, each with its length.

    >>> hashed("ab", "c") == hashed("a", "bc")
    False
    """
    sha = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        sha.update(len(content).to_bytes(8, "little"))
        sha.update(content)
    return sha.digest()


def without_addresses(text: str) -> str:
    """Functions print with their address, which differs from process to process."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def python_files(home: Path, names: Sequence[str]) -> list[Path]:
    """The files of Python code among these files and folders of `home`, in order."""
    named = [home / name for name in names]
    return sorted(path for part in named for path in ([part] if part.is_file() else part.rglob("*.py")))
