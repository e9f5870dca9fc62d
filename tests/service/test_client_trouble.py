"""Python's client before what is not its server: proxies that say it is away, redirects, pages to log in."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from driftopt.study import Study
from driftopt.study import http as service_client
from driftopt.study.http import ServiceClient
from support.servers import SECRET


@contextmanager
def answering(*answers):
    """A server that gives these answers in turn, (status, headers, content): its address, and who asked."""
    left, heard = list(answers), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            heard.append((self.path, self.headers.get("Authorization")))
            status, headers, content = left.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, format, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", heard
        finally:
            server.shutdown()
            thread.join()


FINE = (200, {"Content-Type": "application/json"}, json.dumps({"fine": True}).encode())


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_passes_by_itself_is_waited_for(status):
    away = (status, {"Content-Type": "text/html"}, b"<h1>away</h1>")
    with answering(away, away, FINE) as (address, heard):
        client = ServiceClient(address, SECRET)
        assert client.post("/v1/studies", {}, keyed=True) == {"fine": True}
        client.close()
    assert len(heard) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_told_and_the_token_is_not_sent_on(status):
    with answering() as (elsewhere, stolen):
        target = f"{elsewhere}/v1/studies/a"
        with (
            answering((status, {"Location": target}, b"")) as (address, heard),
            pytest.raises(ValueError, match=f"which leads to .*{elsewhere}/v1/studies/a.*token was not sent"),
        ):
            Study.open(address, "a", token=SECRET)
    assert (len(heard), stolen) == (1, [])


PAGES = [
    (200, {"Content-Type": "text/html"}, b"<html>Please log in</html>"),
    (200, {"Content-Type": "text/plain"}, b"It works!"),
    (200, {}, b"\xff\xfe"),
    (404, {"Content-Type": "text/html"}, b"<h1>Not here</h1>"),
]


@pytest.mark.parametrize("page", PAGES, ids=["page", "text", "bytes", "missing"])
def test_what_is_no_server_of_studies_is_named(page):
    with (
        answering(page) as (address, _),
        pytest.raises(ValueError, match=rf"{address} answered .* no JSON: url must lead to `driftopt serve`"),
    ):
        Study.open(address, "a", token=SECRET)


def test_who_gives_up_says_what_the_proxy_said(monkeypatch):
    monkeypatch.setattr(service_client, "GIVE_UP_AFTER", 0.0)
    with answering((502, {}, b"")) as (address, _), pytest.raises(Exception, match="502: it gave no reason"):
        ServiceClient(address, SECRET).get("/v1/studies")
