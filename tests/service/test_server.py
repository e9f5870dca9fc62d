"""The server as a process: started by the command, killed under load, stopped while it works."""

import os
import signal
import subprocess
import sys
import threading

import httpx
import pytest

from driftopt.study import DatabaseRefused, Study
from driftopt.study import http as client_of
from support.served_process import kill_under_load, served
from support.servers import SECRET, client, serving, settings
from support.study_worlds import PLAIN, drive

WIDE = {**PLAIN, "parallel": 40}


def test_no_kill_loses_or_changes_anything(sqlite_url, monkeypatch):
    """Clients with retries finish; what was acknowledged is there; the end is the same to the bit."""
    monkeypatch.setenv("DRIFTOPT_TOKEN", SECRET)
    with Study.create(sqlite_url, "a", budget=80, **WIDE) as study:
        study.ask(holder="client 0")  # an iteration is open, so that no server has to start JAX
    told, errors, killed = kill_under_load(sqlite_url, SECRET, "a", kills=2, clients=3)
    assert (errors, killed) == ([], 2)
    study = Study.open(sqlite_url, "a")
    trials = {trial.id: trial for trial in study.trials()}
    assert {id: (trials[id].state, trials[id].value) for id in told} == {
        id: ("complete", value) for id, value in told.items()
    }
    assert [trial.state for trial in trials.values()] == ["complete"] * 80  # none was handed out twice
    whole = drive(Study.create("sqlite://", "a", budget=80, **WIDE))
    assert study.recommend().x.tobytes() == whole.recommend().x.tobytes()


def test_the_command_prints_a_link_and_stops_when_told(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "DRIFTOPT_TOKEN"}
    command = [sys.executable, "-m", "driftopt", "serve", str(tmp_path / "a.db"), "--port", "0"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        where, docs, link, _ = (process.stdout.readline().strip() for _ in range(4))
        assert where.startswith("driftopt serves the studies of sqlite:///")
        address, _, secret = link.partition("/#token=")
        assert docs == f"{address}/docs"
        with client(address, secret) as http:
            assert http.get("/v1/studies").json() == {"studies": []}
            assert http.get("/readyz").json() == {"status": "ok"}
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()
    assert "stopped; all that was acknowledged is recorded" in said
    assert secret not in said


def test_a_token_that_was_given_is_not_printed(tmp_path):
    with served(str(tmp_path / "a.db"), SECRET) as (address, process):
        with client(address) as http:
            assert http.get("/v1/studies").status_code == 200
        process.terminate()
        printed = process.stdout.read()
        _, said = process.communicate()
    assert SECRET not in printed + said
    assert f"    {address}/\n" in printed  # the page, which asks for it


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host", "0.0.0.0"], "tokens would travel in the clear"),
        (["--host", "0.0.0.0", "--behind-proxy"], "needs --allow-host NAME"),
        (["--keyfile", "key.pem"], "--keyfile needs --certfile"),
        (["--proxy-address", "10.0.0.1"], "--proxy-address needs --behind-proxy"),
        (["--certfile", "missing.pem"], "--certfile and --keyfile cannot be used"),
        (["--token-file", "missing.toml"], "missing.toml"),
        (["--allow-origin", "*"], "--allow-origin"),
        (["--port", "99999"], "cannot listen"),
    ],
)
def test_what_is_careless_is_refused_with_a_sentence(tmp_path, monkeypatch, capsys, options, sentence):
    from driftopt.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["driftopt", "serve", "a.db", *options])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("url", ["nowhere/a.db", "sqlite:///nowhere/a.db"])
def test_a_folder_that_is_not_there_is_no_shop_without_studies(tmp_path, monkeypatch, url):
    from driftopt.service.server import check_folder

    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"there is no folder nowhere for the database a\.db"):
        check_folder(url)
    for there in (
        "a.db",
        "sqlite:///a.db",
        str(tmp_path / "a.db"),
        f"sqlite:///{tmp_path}/a.db",
        "postgresql://h/a",
    ):
        check_folder(there)


def test_a_port_that_is_taken_is_said(server):
    from driftopt.service import server as servers

    with pytest.raises(ValueError, match=r"cannot listen on 127\.0\.0\.1"):
        servers.listen("127.0.0.1", int(server[0].rsplit(":", 1)[1]))


def answered(address):
    try:
        return httpx.get(f"{address}/healthz").status_code
    except httpx.TransportError:
        return None


def test_a_server_that_stops_finishes_open_requests(tmp_path, monkeypatch):
    """A request that is being worked on when the server is told to stop is answered."""
    begun, go_on = threading.Event(), threading.Event()
    with serving(settings(tmp_path / "a.db")) as (address, running):
        study = Study.create(running.label, "a", budget=12, **PLAIN)
        trial = study.ask()
        together = Study.do_together

        def slow(self, *given):
            begun.set()
            go_on.wait()
            return together(self, *given)

        monkeypatch.setattr(Study, "do_together", slow)
        answers = []

        def told():
            with client(address) as http:
                answers.append(http.post(f"/v1/studies/a/trials/{trial.id}:tell", json={"value": 1.5}))

        thread = threading.Thread(target=told)
        thread.start()
        begun.wait()
        running.should_exit = True
        running._service.stopping.set()
        while answered(address):
            pass  # until the door is shut: nothing new is taken
        go_on.set()
        thread.join()
    assert answers[0].json() == {"id": trial.id, "state": "complete", "doubts": []}
    assert study.trial(trial.id).value == 1.5


def test_answers_that_wait_together_are_recorded_together_and_refused_alone(tmp_path, monkeypatch):
    """One wrong answer among those that wait does not spoil the others."""
    with serving(settings(tmp_path / "a.db")) as (address, running), client(address) as http:
        study = Study.create(running.label, "a", budget=80, **WIDE)
        trials = study.ask_many(6)
        study.tell(trials[5].id, 9.0)
        gate, batches = threading.Event(), []
        http.get("/v1/studies/a")
        kept = running._service.studies._kept["a"]
        together = Study.do_together

        def watched(self, verb, records):
            batches.append(len(records))
            return together(self, verb, records)

        monkeypatch.setattr(Study, "do_together", watched)
        kept.change(lambda _: gate.wait())  # whoever comes now waits in the line

        def tell(trial, value):
            with client(address) as one:
                found[trial.id] = one.post(f"/v1/studies/a/trials/{trial.id}:tell", json={"value": value})

        found = {}
        for values in ([1.0, 2.0, 3.0], [1.0, 4.0, 5.0]):
            which = trials[:3] if values[1] == 2.0 else [trials[5], *trials[3:5]]
            threads = [threading.Thread(target=tell, args=pair) for pair in zip(which, values, strict=True)]
            for thread in threads:
                thread.start()
            while len(kept._waiting) < 3:
                threading.Event().wait(0.001)
            gate.set()
            for thread in threads:
                thread.join()
            gate.clear()
            kept.change(lambda _: gate.wait())
        gate.set()
        assert batches == [3, 3]
        assert [found[trial.id].status_code for trial in trials] == [200, 200, 200, 200, 200, 409]
        assert [trial.value for trial in study.trials()] == [1.0, 2.0, 3.0, 4.0, 5.0, 9.0]


def test_a_server_that_does_not_come_back_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(client_of, "GIVE_UP_AFTER", 0.0)
    with pytest.raises(DatabaseRefused, match="nothing is done twice"):
        Study.open("http://127.0.0.1:1", "a", token=SECRET)


@pytest.mark.parametrize("url", ["http://", "http://user@host", "http://host:99999", "http://host?x=1"])
def test_an_address_that_cannot_be_is_refused(url):
    with pytest.raises(ValueError, match="url"):
        Study.open(url, "a", token=SECRET)


def test_a_token_is_needed_and_only_for_a_server(tmp_path, monkeypatch, server):
    monkeypatch.delenv("DRIFTOPT_TOKEN", raising=False)
    with pytest.raises(ValueError, match="token"):
        Study.open(server[0], "a")
    with pytest.raises(ValueError, match="token is for a server"):
        Study.open(tmp_path / "a.db", "a", token=SECRET)
    with pytest.raises(PermissionError, match="this token is not known"):
        Study.open(server[0], "a", token=SECRET + "x")
