"""The one write-then-rename: the whole file or the old one, whatever fails; else a sentence."""

import errno
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from driftopt.runtime.files import WriteError, make_folder, write_whole


def held(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_bytes_given_are_the_bytes_there(tmp_path):
    for content in (b"", b"one", bytes(range(256)) * 10_000, b"short again"):
        write_whole(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert held(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, before):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(WriteError, match=r"cannot write .*file: No space left on device; free some space"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert held(tmp_path) == ([] if before is None else ["file"])
    assert before is None or path.read_bytes() == before


LIMITED = """
import resource, signal, sys
from driftopt.runtime.files import WriteError, write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
write_whole(sys.argv[1], b"x" * 90_000)
try:
    write_whole(sys.argv[1], b"y" * 300_000)
except WriteError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are of Unix")
def test_a_disk_that_takes_a_part_of_the_bytes_keeps_none_of_them(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "file")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "free some space" in done.stdout
    assert held(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"x" * 90_000


def test_the_content_is_on_the_disk_before_the_name(tmp_path, monkeypatch):
    order = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, n=name, r=real: (order.append(n), r(*a))[1])
    write_whole(tmp_path / "file", b"content")
    assert order == ["fsync", "replace", "fsync"]  # the file, its name, the folder


def test_writers_side_by_side_never_share_a_temporary_file(tmp_path):
    """Each of many threads writes a page of its own letter: the file is one of the pages, unmixed."""
    path, start = tmp_path / "file", threading.Barrier(8)

    def write(letter):
        start.wait()
        for _ in range(20):
            write_whole(path, bytes([letter]) * 100_000)
            assert len(set(path.read_bytes())) == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(65, 73)))
    assert len(path.read_bytes()) == 100_000
    assert held(tmp_path) == ["file"]


def test_permissions_are_kept_and_private_is_private(tmp_path):
    for name in ("group", "plain", "secret"):
        write_whole(tmp_path / name, b"1")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == 0o666 & ~mask
    (tmp_path / "group").chmod(0o664)
    write_whole(tmp_path / "group", b"2")
    assert stat.S_IMODE((tmp_path / "group").stat().st_mode) == 0o664
    write_whole(tmp_path / "secret", b"2", private=True)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    folder = make_folder(tmp_path / "deep" / "inside", private=True)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
    write_whole(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_bytes() == b"content"


def test_what_cannot_be_a_file_is_a_sentence(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("in the way")
    os.mkfifo(tmp_path / "pipe")
    for path, says in [
        (tmp_path / "absent" / "file", r"the folder .*absent does not exist; make it first"),
        (tmp_path / "file" / "below", "does not exist; make it first"),
        (tmp_path / "folder", "it exists and is not a file"),
        (tmp_path / "pipe", "it exists and is not a file"),
        (tmp_path / ("x" * 300), "choose a shorter name"),
    ]:
        with pytest.raises(WriteError, match=says):
            write_whole(path, b"content")
    with pytest.raises(WriteError, match=r"cannot write into .*below"):
        make_folder(tmp_path / "file" / "below")
    assert held(tmp_path) == ["file", "folder", "pipe"]


def test_what_must_not_be_written_is_left_alone(tmp_path, monkeypatch):
    """The superuser may write anything, so that the system's answer is planted."""
    write_whole(tmp_path / "file", b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WriteError, match="Permission denied; make it writable"):
        write_whole(tmp_path / "file", b"new")
    with pytest.raises(WriteError, match="Permission denied; make it writable"):
        make_folder(tmp_path)
    assert (tmp_path / "file").read_bytes() == b"old"
