"""Rates, streams and logs; and what a server refuses to be: open in the clear, or under any name."""

import asyncio
import logging
import socket
import threading

import pytest

from driftopt.service import kept_studies, routes
from driftopt.service.kept_studies import KeptStudy
from driftopt.service.rate_limits import Rate, Streams, TooMany
from driftopt.service.settings import allowed_hosts, checked_origins
from driftopt.study import DatabaseRefused, Study
from driftopt.study.log import database
from driftopt.study.records import Question, Reason, Result
from driftopt.study.verbs import VERBS
from support.servers import SECRET, client, serving, settings
from support.study_worlds import PLAIN


def test_a_rate_is_a_bucket_that_fills():
    now = [0.0]
    rate = Rate(2.0, 3.0, lambda: now[0])
    assert [rate.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert rate.take("b") == 0.0
    now[0] = 0.5
    assert rate.take("a") == 0.0
    assert rate.take("a") == 0.5


def test_streams_are_counted_and_given_back():
    streams = Streams(3, 2)
    with streams.one("a"), streams.one("a"):
        with pytest.raises(TooMany):
            streams.one("a").__enter__()
        with streams.one("b"), pytest.raises(TooMany):
            streams.one("c").__enter__()
    assert streams.open.total() == 0


def test_names_and_origins_are_checked_at_the_door():
    for wrong in ("http://shop.example", "a b", ""):
        with pytest.raises(ValueError, match="--allow-host"):
            allowed_hosts("127.0.0.1", [wrong])
    for wrong in ("shop.example", "https://shop.example/", "*", "https://a,https://b"):
        with pytest.raises(ValueError, match="--allow-origin"):
            checked_origins([wrong])
    assert "shop.example" in allowed_hosts("0.0.0.0", ["Shop.Example"])
    assert "0.0.0.0" not in allowed_hosts("0.0.0.0", ["shop.example"])


def test_no_token_gets_into_the_log(tmp_path, caplog):
    with (
        caplog.at_level(logging.DEBUG),
        serving(settings(tmp_path / "a.db", log_requests=True)) as (address, _),
        client(address) as http,
    ):
        http.get("/v1/studies", params={"token": SECRET})
        http.get("/v1/studies/nowhere%0a%1b[31m")
        with client(address, SECRET + "wrong") as other:
            other.get("/v1/studies")
    lines = [record.getMessage() for record in caplog.records if record.name == "driftopt.service"]
    assert any("GET '/v1/studies' 200" in line for line in lines)
    assert SECRET not in "".join(lines)
    assert not any("\n" in line or "\x1b" in line for line in lines)


def test_what_nobody_expected_says_nothing_of_itself(tmp_path, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("a secret of the inside")

    with serving(settings(tmp_path / "a.db")) as (address, running), client(address) as http:
        monkeypatch.setattr(running._service.studies, "listed", broken)
        got = http.get("/v1/studies")
    assert (got.status_code, got.json()["kind"]) == (500, "ServerError")
    assert "secret of the inside" not in got.text
    assert got.headers["x-frame-options"] == "DENY"
    assert "secret of the inside" in caplog.text


def test_a_token_may_send_so_many_requests(tmp_path, tighter):
    with serving(tighter(tmp_path / "a.db", requests_a_second=3.0)) as (address, _), client(address) as http:
        answers = [http.get("/v1/studies") for _ in range(40)]
    assert answers[0].status_code == 200
    refused = [got for got in answers if got.status_code == 429]
    assert refused
    assert refused[0].headers["retry-after"] == "1"
    assert "sends more requests than it may" in refused[0].json()["detail"]


def test_a_server_stops_soon_where_its_database_is_away(monkeypatch):
    """Whoever waits for it gives up, and however many ask whether it is ready, one thread waits."""
    monkeypatch.setattr(routes, "_READY_WITHIN", 0.05)
    monkeypatch.setattr(kept_studies, "_LAST_SECONDS", 1.0)
    monkeypatch.setattr(database, "GIVE_UP_AFTER", 1e9)  # by itself it would never end
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with (
        serving(settings(f"postgresql://nobody@127.0.0.1:{port}/shop")) as (address, running),
        client(address) as http,
    ):
        for _ in range(12):
            assert http.get("/readyz").status_code == 503
        assert len(running._service.studies._begun) == 1
    assert running.abandoned == 0


def test_what_was_refused_while_it_waited_in_the_line_is_not_done_afterwards(tmp_path):
    path = tmp_path / "a.db"
    study = Study.create(path, "a", budget=12, **PLAIN)
    trial, gate = study.ask(), threading.Event()

    async def main():
        kept = kept_studies.KeptStudies(str(path), lambda: 0.0, 60.0)
        line = await kept.kept("a")
        kept._seconds = 0.01
        first = line.change(lambda _: gate.wait())
        for late in (
            kept.do("a", VERBS["tell"], Result(id=trial.id, value=1.0)),
            kept.do("a", VERBS["ask"], Question(holder="late")),
            kept.do("a", VERBS["stop"], Reason(reason="late")),
        ):
            with pytest.raises(TimeoutError, match="Nothing was changed; try again"):
                await late
        gate.set()
        await asyncio.wrap_future(first)
        await asyncio.wrap_future(line.change(lambda _: None))
        kept.close()

    asyncio.run(main())
    assert [(found.id, found.state) for found in study.trials()] == [(trial.id, "pending")]
    assert study.summary().stopped is None


def test_answers_that_wait_for_a_database_that_is_away_are_refused_at_once():
    """Each by itself would wait as long again as all of them have."""
    calls = []

    class Away:
        def do_together(self, verb, records):
            calls.append(len(records))
            raise DatabaseRefused("the server does not answer")

    kept = KeptStudy(Away())
    gate = threading.Event()
    kept.change(lambda _: gate.wait())
    told = [kept.do("tell", Result(id=number, value=1.0)) for number in (1, 2, 3)]
    gate.set()
    for one in told:
        with pytest.raises(DatabaseRefused):
            one.result()
    kept.close()
    assert calls == [3]
