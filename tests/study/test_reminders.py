"""Reminders: at least once, signed, and no more than once where all goes well."""

import base64
import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from driftopt.study import Study
from driftopt.study.reminders import NotReceived, remind, waiting

SECRET = "a secret of some length"


@pytest.fixture
def receiver():
    """A server that keeps what it gets, and answers the codes that a test lists; then 204."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            codes = self.server.codes
            self.server.got.append(({name.lower(): one for name, one in self.headers.items()}, body))
            self.send_response(codes.pop(0) if codes else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.got, server.codes = [], []
        server.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def made(clock):
    return Study.create("sqlite://", "shop", x0=[3.0], rng=1, clock=clock, lease=3 * 86400.0)


def test_what_waits_is_posted_once_and_signed(receiver, clock, tmp_path):
    study, kept = made(clock), tmp_path / "kept.json"
    assert remind(study, receiver.url, SECRET, kept) == []
    study.ask(holder="tea")
    clock.now += 86400
    (sentence,) = remind(study, receiver.url, SECRET, kept)
    assert sentence == "trial 1 by tea has no result, asked 1 day ago"
    assert remind(study, receiver.url, SECRET, kept) == []
    ((headers, body),) = receiver.got
    assert json.loads(body)["reminders"] == [sentence]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    clock.now += 3 * 86400
    assert "is overdue" in remind(study, receiver.url, SECRET, kept)[0]
    study.tell(1, 2.0)
    study.hold(1)
    assert "is held" in remind(study, receiver.url, SECRET, kept)[0]
    study.accept(1)
    assert remind(study, receiver.url, SECRET, kept) == []
    study.hold(1)  # again: it is another thing
    assert "is held" in remind(study, receiver.url, SECRET, kept)[0]


def test_a_receiver_that_fails_gets_it_again(receiver, clock, tmp_path):
    study, kept, waits = made(clock), tmp_path / "kept.json", []
    study.ask(holder="tea")
    clock.now += 86400
    receiver.codes[:] = [500, 503]
    remind(study, receiver.url, SECRET, kept, wait=waits.append)
    assert len(receiver.got) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert waits == [2.0, 4.0]
    study.ask(holder="mug")
    clock.now += 86400
    receiver.codes[:] = [500] * 9
    with pytest.raises(NotReceived, match="answered 500"):
        remind(study, receiver.url, SECRET, kept, wait=waits.append)
    receiver.codes.clear()
    assert "by mug" in remind(study, receiver.url, SECRET, kept)[0]


@pytest.mark.parametrize("url", ["http://shop.example/hook", "file:///etc/passwd", "ftp://localhost/x"])
def test_reminders_go_nowhere_in_plain_text(url, clock, tmp_path):
    with pytest.raises(ValueError, match="must begin with https"):
        remind(made(clock), url, SECRET, tmp_path / "kept.json")


def test_a_halt_is_something_to_be_reminded_of(clock):
    limits = {"complaints": {"max": 5, "hard": True}}
    study = Study.create("sqlite://", "shop", x0=[3.0], rng=1, clock=clock, limits=limits)
    for _ in range(2):
        study.tell(study.ask().id, 1.0, metrics={"complaints": 9})
    assert "complaints is 9" in waiting(study)["halted"]
