"""Heads: slow ones, endless ones, those that ask for the head of an answer alone, and the body behind one."""

import socket
import threading
from urllib.parse import urlsplit

from support.servers import client, serving


def test_a_head_that_does_not_come_is_not_waited_for(tmp_path, tighter):
    with serving(tighter(tmp_path / "a.db", head_seconds=0.05)) as (address, _):
        place = urlsplit(address)
        for bytes_sent in (b"", b"GET /healthz HTTP/1.1\r\nHost: loc"):
            with socket.create_connection((place.hostname, place.port), timeout=30) as wire:
                wire.sendall(bytes_sent)
                assert wire.recv(100) == b""  # closed
        with socket.create_connection((place.hostname, place.port), timeout=30) as wire:
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in wire.recv(100)
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHo")  # the next on the same connection
            while wire.recv(4096):
                pass


def test_an_endless_head_is_cut_off(server):
    head = ["GET /healthz HTTP/1.1", "Host: localhost", *(f"X-{i}: {'x' * 8000}" for i in range(60))]
    place = urlsplit(server[0])
    with socket.create_connection((place.hostname, place.port), timeout=30) as wire:
        try:
            for _ in range(50):
                wire.sendall("\r\n".join(head).encode())
            taken = wire.recv(100) != b""
        except OSError:
            taken = False
    assert not taken
    with client(server[0]) as http:
        assert http.get("/healthz").status_code == 200


def test_head_answers_as_get_without_its_content(http, create, server):
    at = create()
    for path in ("/", "/healthz", "/docs", "/page/main.js", "/v1/studies", at, f"{at}/export"):
        got, whole = http.head(path), http.get(path)
        assert (got.status_code, got.content) == (200, b"")
        assert got.headers["content-length"] == whole.headers["content-length"]
        assert got.headers["content-type"] == whole.headers["content-type"]
    stream = http.head(f"{at}/events")
    assert (stream.status_code, stream.content) == (200, b"")
    assert stream.headers["content-type"].startswith("text/event-stream")
    while server[1]._service.streams.open.total():
        threading.Event().wait(0.001)  # its place is given back
    assert http.head("/v1/studies/nowhere").status_code == 404
    assert http.head(f"{at}/trials:ask").status_code == 405
    with client(server[0], None) as stranger:
        assert stranger.head("/v1/studies").status_code == 401
