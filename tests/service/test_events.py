"""What happens in a study is told as it happens, once, in order, and to whoever comes back."""

import json

import httpx
import pytest

from driftopt.study import Study, delete
from support.servers import client, serving
from support.study_worlds import PLAIN


def events(stream, count):
    """The next so many events: (id, kind, data)."""
    found, now = [], {}
    for line in stream:
        if line.startswith((":", "retry")):
            continue
        if line:
            name, _, value = line.partition(": ")
            now[name] = value
        elif now:
            found.append((int(now.get("id", 0)), now["event"], json.loads(now["data"])))
            now = {}
            if len(found) == count:
                return found
    return found


def test_a_stream_tells_what_happens(http, create):
    at = create()
    with http.stream("GET", f"{at}/events", params={"after": 0}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        lines = answer.iter_lines()
        (trial,) = http.post(f"{at}/trials:ask", json={"holder": "till"}).json()["trials"]
        opened, asked = events(lines, 2)
        assert opened[:2] == (1, "opened")
        assert (asked[:2], asked[2]["trial_id"], asked[2]["holder"]) == ((2, "asked"), trial["id"], "till")
        http.post(f"{at}/trials/{trial['id']}:tell", json={"value": 2.5})
        ((row, kind, data),) = events(lines, 1)
        assert (row, kind, data["value"]) == (3, "complete", 2.5)
        http.post(f"{at}:stop", json={"reason": "enough"})
        ((_, kind, data),) = events(lines, 1)
        assert (kind, data["reason"], data["who"]) == ("stopped", "enough", "admin")


def test_whoever_comes_back_misses_nothing(http, create):
    at = create()
    for _ in range(2):
        http.post(f"{at}/trials:ask")
    with http.stream("GET", f"{at}/events", headers={"Last-Event-ID": "1"}) as answer:
        assert [row for row, _, _ in events(answer.iter_lines(), 2)] == [2, 3]
    listed = http.get(f"{at}/changes", params={"limit": 2}).json()
    assert ([one["row"] for one in listed["changes"]], listed["next"]) == ([1, 2], 2)
    rest = http.get(f"{at}/changes", params={"after": 2}).json()
    assert ([one["row"] for one in rest["changes"]], rest["next"]) == ([3], None)


def test_what_other_processes_do_is_told_too(http, create, server, request):
    at = create()
    with http.stream("GET", f"{at}/events") as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("retry")
        Study.open(server[1].label, request.node.name).ask(holder="elsewhere")
        assert [data["holder"] for _, kind, data in events(lines, 2) if kind == "asked"] == ["elsewhere"]
        delete(server[1].label, request.node.name)
        assert [kind for _, kind, _ in events(lines, 1)] == ["deleted"]


def test_streams_are_limited(tmp_path, tighter):
    with (
        serving(tighter(tmp_path / "a.db", streams_of_a_token=1)) as (address, running),
        client(address) as http,
    ):
        Study.create(running.label, "a", budget=12, **PLAIN)
        with http.stream("GET", "/v1/studies/a/events") as first:
            assert first.status_code == 200
            second = http.get("/v1/studies/a/events")
            assert (second.status_code, second.json()["kind"]) == (429, "TooMany")
        assert http.get("/v1/studies/b/events").status_code in (404, 429)


def test_a_server_that_stops_ends_its_streams_and_finishes_what_is_asked(tmp_path, tighter):
    with serving(tighter(tmp_path / "a.db")) as (address, running), client(address) as http:
        Study.create(running.label, "a", budget=12, **PLAIN)
        with http.stream("GET", "/v1/studies/a/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            running.should_exit = True
            assert events(lines, 1) == []  # it ends, by itself
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz")
