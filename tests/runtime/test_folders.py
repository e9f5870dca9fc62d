"""Folders on disks and in object stores: a file is whole or not there, wherever it lies."""

import sys

import pytest

from driftopt.packages import MissingPackage
from driftopt.runtime import folders
from driftopt.runtime.files import WriteError
from driftopt.runtime.folders import DiskFolder, StoreFolder, folder_at

fsspec = pytest.importorskip("fsspec", reason="needs driftopt[fsspec]")


@pytest.fixture(params=["disk", "store", "disk through fsspec"])
def place(request, tmp_path):
    if request.param == "disk":
        found = DiskFolder(tmp_path)
        found.make("parts")
    elif request.param == "store":
        found = folder_at(f"memory://{tmp_path.name}-{request.node.name}")
    else:
        found = StoreFolder(f"local://{tmp_path}/results")
    return found


def test_what_was_written_is_read_listed_and_removed(place):
    assert not place.has("parts/a")
    assert place.names("nowhere") == []
    with pytest.raises(FileNotFoundError):
        place.read("parts/a")
    place.remove("parts/a")
    place.write("parts/a", b"one")
    place.write("parts/a", b"two")
    assert place.has("parts/a")
    assert place.read("parts/a") == b"two"
    assert place.names("parts") == ["a"]
    place.remove("parts/a")
    assert not place.has("parts/a")


def test_a_store_sees_what_others_write(monkeypatch, tmp_path):
    monkeypatch.setattr(folders, "LISTED", 0.0)
    one, two = (StoreFolder(f"memory://{tmp_path.name}-two") for _ in range(2))
    assert not one.has("parts/a")
    two.write("parts/a", b"1")
    assert one.has("parts/a")


def test_a_write_that_breaks_off_leaves_nothing_or_the_old_file(monkeypatch, tmp_path):
    place = StoreFolder(f"memory://{tmp_path.name}-broken")
    place.write("parts/a", b"old")
    pipe = place._files.pipe_file

    def half(path, content):
        pipe(path, content[:2])
        raise ConnectionError("the line is dead")

    monkeypatch.setattr(place._files, "pipe_file", half)
    for name in ("parts/a", "parts/b"):
        with pytest.raises(WriteError, match="the line is dead"):
            place.write(name, b"new content")
    assert place.read("parts/a") == b"old"
    assert place.names("parts") == ["a"]


def test_an_address_that_cannot_be_opened_is_refused_with_a_sentence(monkeypatch):
    with pytest.raises(ValueError, match="folder nothing://x cannot be opened"):
        folder_at("nothing://x")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackage, match=r"pip install 'driftopt\[fsspec\]'"):
        folder_at("memory://x")
    assert isinstance(folder_at("file:///somewhere"), DiskFolder)
