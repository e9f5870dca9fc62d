"""What no request may do: forged names and origins, bodies too large, slow or deep, no JSON; tricks."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import httpx
import pytest

from driftopt.service.settings import checked_origins
from support.servers import SECRET, client, serving, settings

JSON = {"Content-Type": "application/json"}


def send(address, *lines, body=b"", read=True):
    """The first line and the body of what comes back to bytes sent as they are."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as wire:
        wire.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        if not read:
            return b""
        whole = b""
        while part := wire.recv(65536):
            whole += part
    return whole


def status(whole):
    return int(whole.split(b" ")[1])


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "localhost:80:80",
        "evil.example:8000",
        "localhost/evil",
        "",
        "127.0.0.2",
        "0x7f000001",
        "localhost evil.example",
    ],
)
def test_another_name_is_not_answered(server, host):
    for path in ("/healthz", "/v1/studies", "/docs", "/"):
        got = send(server[0], f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close")
        assert status(got) in (400, 421), path
        assert b"ok" not in got.split(b"\r\n\r\n", 1)[1]


def test_two_names_or_none_are_not_answered(server):
    head = ("GET /healthz HTTP/1.1", "Host: localhost", "Host: evil.example", "Connection: close")
    assert status(send(server[0], *head)) in (400, 421)
    assert status(send(server[0], "GET /healthz HTTP/1.1", "Connection: close")) in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:8000", "localhost."])
def test_this_machine_is_answered_by_its_own_names(server, host):
    assert status(send(server[0], "GET /healthz HTTP/1.1", f"Host: {host}", "Connection: close")) == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1.evil.example", "file://", "http://127.0.0.1:1", "x"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_pages_of_other_origins_are_refused(http, origin, method):
    got = http.request(method, "/v1/studies", headers={"Origin": origin})
    assert (got.status_code, got.json()["kind"]) == (403, "WrongOrigin")
    assert "access-control-allow-origin" not in got.headers


def test_an_origin_that_was_allowed_may_use_the_service(tmp_path):
    told = settings(tmp_path / "a.db", origins=checked_origins(["https://shop.example"]))
    with serving(told) as (address, _), client(address) as http:
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        got = http.options("/v1/studies", headers={"Origin": "https://shop.example"} | asked)
        assert got.headers["access-control-allow-origin"] == "https://shop.example"
        assert "access-control-allow-credentials" not in got.headers
        assert http.get("/v1/studies", headers={"Origin": "https://evil.example"}).status_code == 403


def test_headers_keep_browsers_in(http):
    for path in ("/", "/docs", "/v1/studies", "/nowhere", "/docs/viewer/swagger-ui.css"):
        got = http.get(path)
        policy = got.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert got.headers["x-frame-options"] == "DENY"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["referrer-policy"] == "no-referrer"
        assert "server" not in got.headers
    assert http.get("/v1/studies").headers["cache-control"] == "no-store"


def test_the_description_loads_nothing_from_elsewhere(http):
    page = http.get("/docs").text
    assert "<script>" not in page
    assert "http" not in page.replace("https://", "http").split("<body>")[1]
    for address in ("/docs/viewer/swagger-ui-bundle.js", "/page/docs.js", "/openapi.json"):
        assert http.get(address).status_code == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "",
    ],
)
def test_only_json_is_taken(http, kind):
    got = http.post("/v1/studies", content=b'{"name": "a"}', headers={"Content-Type": kind})
    assert (got.status_code, got.json()["kind"]) == (415, "NotJson")


def test_a_body_without_a_kind_is_not_taken(server):
    body = b'{"name": "a"}'
    head = ("POST /v1/studies HTTP/1.1", "Host: localhost", f"Authorization: Bearer {SECRET}")
    got = send(server[0], *head, f"Content-Length: {len(body)}", "Connection: close", body=body)
    assert status(got) == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1",
        b"\xff\xfe",
        b"nul",
        b'{"name": "a", }',
        b"[" * 100_000 + b"]" * 100_000,
        b'{"x0":' * 20_000 + b"1" + b"}" * 20_000,
        b'"' + b"x" * 100_000 + b'"',
        b"1" * 5000,
        b'{"name": "\\ud800", "x0": [1], "budget": 9}',
        b'{"name": "a\\u0000b", "x0": [1], "budget": 9}',
        b'{"name": "a", "x0": [1e999], "budget": 9}',
        b'{"name": "a", "x0": [1], "budget": 1e400}',
        b'{"name": "a", "x0": [1], "budget": 9, "params": {"radius": {"a": 1}}}',
        b'{"name": "a", "x0": [1], "budget": 9, "clock": 1}',
        b'{"name": "a", "x0": [1], "budget": 9, "url": "other.db"}',
    ],
)
def test_bodies_that_are_wrong_are_refused_with_a_sentence(http, body):
    got = http.post("/v1/studies", content=body, headers=JSON)
    assert got.status_code in (400, 422), got.text
    assert got.json()["detail"]
    assert len(got.text) < 5000


def test_bodies_that_are_too_large_are_refused(http, server):
    def chunks(megabytes):
        for _ in range(32 * megabytes):
            yield b" " * 2**15

    for content in (b" " * (2**20 + 1), b" " * 2**22, chunks(2), chunks(4)):
        got = http.post("/v1/studies", content=content, headers=JSON)
        assert (got.status_code, got.json()["kind"]) == (413, "TooLarge")
    # One that goes on and on is cut off, and may not see why.
    with suppress(httpx.TransportError):
        assert http.post("/v1/studies", content=chunks(40), headers=JSON).status_code == 413
    head = ("POST /v1/studies HTTP/1.1", "Host: localhost", "Content-Type: application/json")
    for length in ("99999999999999999999999", "-1", "1e3", "²"):
        assert status(send(server[0], *head, f"Content-Length: {length}", "Connection: close")) in (400, 413)
    assert http.get("/healthz").status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path, tighter):
    with serving(tighter(tmp_path / "a.db", body_seconds=0.05)) as (address, _):
        sent = JSON | {"Authorization": f"Bearer {SECRET}"}
        head = ("POST /v1/studies HTTP/1.1", "Host: localhost", *(f"{k}: {v}" for k, v in sent.items()))
        got = send(address, *head, "Content-Length: 100", "Connection: close", body=b"{")
        assert status(got) == 408


@pytest.mark.parametrize(
    "path",
    [
        "/docs/viewer/..%2f..%2f__init__.py",
        "/docs/viewer/../../__init__.py",
        "/page/%2e%2e/app.py",
        "/page/..\\app.py",
        "/page//etc/passwd",
        "/page/../app.py",
        "//healthz",
        "/v1//studies",
        "/v1/studies/",
        "/v1/../metrics",
        "/V1/studies",
        "/v1/studies/%00",
        "/v1/studies/%ff",
        "/v1/studies/a/trials/1%3Atell",
        "/v1/studies/a/trials/-1:tell",
        "/v1/studies/a/trials/1e3:tell",
        "/" + "a" * 60_000,
        "/v1/studies/" + "a" * 3000,
        "*",
    ],
)
def test_odd_paths_lead_nowhere(server, path):
    head = (f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {SECRET}")
    got = send(server[0], *head, "Connection: close")
    assert status(got) in (400, 404, 405, 422), got[:300]
    assert b"import" not in got
    assert b"Traceback" not in got
