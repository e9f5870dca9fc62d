"""The study commands: text and JSON, exit codes, a page that fits the terminal."""

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from driftopt.study import Study
from driftopt.study.log import database
from support.study_worlds import PLAIN, drive


def test_from_create_to_recommend_in_json(prices, shell):
    while True:
        code, out, err = shell("ask", prices, "weekly", "--json")
        if code != 0:
            break
        trial = json.loads(out)
        value = sum(x * x for x in trial["x"].values())
        code, out, _ = shell("tell", prices, "weekly", "--json", stdin={"id": trial["id"], "value": value})
        assert json.loads(out) == {"id": trial["id"], "state": "complete"}
    assert code == 4
    assert "Ask for the recommendation" in err
    _, out, _ = shell("recommend", prices, "weekly", "--json")
    found = json.loads(out)
    assert list(found["x"].values()) == Study.open(prices, "weekly").recommend().x.tolist()
    assert found["results"] == 12


def test_json_on_standard_input_creates(tmp_path, shell):
    options = {"x0": [1.0], "budget": 4, "params": {"radius": 0.1}, "bounds": [[0, None]], "lease": None}
    code, out, _ = shell("create", tmp_path / "a.db", "a", "--json", stdin=options)
    assert (code, json.loads(out)["budget"]) == (0, 4)
    code, out, err = shell("create", tmp_path / "a.db", "b", "--json", stdin={**options, "speed": 1})
    said = json.loads(err)
    assert (code, out, said["code"], said["kind"]) == (2, "", 2, "ValueError")
    assert said["error"].startswith("speed: unknown. The study takes x0, budget")


def test_options_beside_json_on_standard_input_are_not_lost(tmp_path, prices, shell):
    options = {"x0": [1.0, 2.0], "budget": 10, "radius": 0.1}
    more = ["--direction", "maximize", "--bounds", "0:3", "--budget", 50, "--lease-days", 1]
    code, out, err = shell("create", tmp_path / "a.db", "a", "--json", *more, stdin=options)
    assert (code, out) == (2, "")
    lost = "--budget, --bounds, --direction, --lease-days: not read with JSON"
    assert json.loads(err)["error"].startswith(lost)
    assert not (tmp_path / "a.db").exists()
    shell("ask", prices, "weekly")
    more = ["--x-deployed", "1,2", "--sem", 0.1, "--who", "ana", "--covariate", "rain=1"]
    code, out, err = shell("tell", prices, "weekly", "--json", *more, stdin={"id": 1, "value": 2})
    assert (code, out) == (2, "")
    assert json.loads(err)["error"].startswith("--sem, --x-deployed, --covariate, --who: not read with JSON")
    assert Study.open(prices, "weekly").trial(1).state == "pending"


def test_many_answers_at_once_and_null_is_a_failure(prices, shell):
    _, out, _ = shell("ask", prices, "weekly", "--count", 5, "--json")
    first, second = json.loads(out)
    answers = [
        {"id": first["id"], "value": None},
        {"id": second["id"], "value": 2, "x_deployed": second["x"]},
    ]
    _, out, _ = shell("tell", prices, "weekly", "--json", stdin=answers)
    assert [done["state"] for done in json.loads(out)] == ["failed", "complete"]


def test_exit_codes(prices, shell):
    _, out, _ = shell("ask", prices, "weekly")
    assert out.startswith("trial 1 (method)\n  tea     ")
    shell("ask", prices, "weekly", "--holder", "cron")
    assert shell("ask", prices, "weekly")[:2] == (0, out)
    code, _, err = shell("ask", prices, "weekly", "--new")
    assert code == 3
    assert "trial 2 by cron" in err
    assert shell("tell", prices, "weekly", 1, "-2.5")[:2] == (0, "trial 1: complete\n")
    assert shell("tell", prices, "weekly", 1, "-2.5")[0] == 0
    code, _, err = shell("tell", prices, "weekly", 1, "2.5")
    assert code == 5
    assert "already told -2.5" in err
    assert shell("tell", prices, "weekly", 99, "2.5")[0] == 2
    assert shell("show", prices, "monthly")[0] == 2
    assert shell("fail", prices, "weekly", 2, "no stock")[:2] == (0, "trial 2: failed\n")


def test_export_plot_and_stationarity(prices, shell, tmp_path):
    study = Study.open(prices, "weekly")
    drive(study)
    study.close()
    assert shell("export", prices, "weekly", tmp_path / "t.csv")[0] == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 13
    assert shell("plot", prices, "weekly", tmp_path / "t.png")[0] == 0
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="0 pairs are told"):
        shell("stationarity", prices, "weekly")
    with pytest.raises(ValueError, match="2 are needed"):
        shell("stationarity", prices, "weekly", "--low=-1", "--high", "1")
    with pytest.raises(ValueError, match="low and high are given together"):
        shell("stationarity", prices, "weekly", "--low", "1")
    assert json.loads(shell("show", prices, "weekly", "--json")[1])["summary"]["spent"] == 12


def test_telling_starts_no_jax(prices):
    script = (
        "import sys; from driftopt.cli import app\n"
        f"app(['study', 'fail', {str(prices)!r}, 'weekly', '1'], result_action='return_value')\n"
        "assert 'jax' not in sys.modules"
    )
    Study.open(prices, "weekly").ask()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "trial 1: failed\n"), done.stderr


def test_names_are_shown_as_they_are_not_read_as_markup(tmp_path):
    names = ["tea [eur]", "oil [/b]"]
    study = Study.create(tmp_path / "a.db", "prices [/x]", names=names, budget=12, **PLAIN)
    study.ask(holder="till [red]")
    paper = Console(width=80, file=io.StringIO())
    paper.print(study.page())
    for words in (*names, "prices [/x]", "till [red]"):
        assert words in paper.file.getvalue()


def test_a_database_that_refuses_says_so_in_one_line(tmp_path, shell, monkeypatch):
    monkeypatch.setattr(database, "GIVE_UP_AFTER", 0.0)
    (tmp_path / "notes.txt").write_text("not a database, and longer than a header would be " * 9)
    create = ("a", "--x0=1", "--budget", 12, "--param", "radius=1")
    for words, reason in (
        (("show", tmp_path / "notes.txt", "a"), "not a database"),
        (("show", tmp_path, "a"), "unable to open"),
        (("create", tmp_path / "no" / "folder" / "a.db", *create), "unable to open"),
        (("ask", "postgresql://u:secret@127.0.0.1:1/db", "a"), "connection"),
    ):
        code, _, err = shell(*words)
        assert code == 1
        assert err.startswith("driftopt: the database refused: ")
        assert reason in err
        assert "secret" not in err


def test_refusals_are_json_where_json_is_asked_for(prices, shell):
    for words, stdin, code, kind in (
        (("show", prices, "monthly"), None, 2, "NoSuchStudy"),
        (("tell", prices, "weekly"), {"id": 9, "value": 1.0}, 2, "UnknownTrial"),
        (("tell", prices, "weekly"), {"id": [3], "value": 1.0}, 2, "ValueError"),
        (("tell", prices, "weekly"), {"id": {"a": 1}, "value": 1.0}, 2, "ValueError"),
        (("tell", prices, "weekly"), {"id": 1}, 2, "ValueError"),
        (("tell", prices, "weekly"), {"id": 1, "value": True}, 2, "ValueError"),
        (("tell", prices, "weekly"), {"id": 1, "value": " 1_000.5 "}, 2, "ValueError"),
        (("stationarity", prices, "weekly"), None, 2, "ValueError"),
        (("plot", prices, "weekly", "picture.xyz"), None, 2, "ValueError"),
    ):
        got, out, err = shell(*words, "--json", stdin=stdin)
        said = json.loads(err)
        assert (got, out, said["code"], said["kind"]) == (code, "", code, kind), words
    shell("ask", prices, "weekly", "--count", 2)
    assert json.loads(shell("ask", prices, "weekly", "--new", "--json")[2])["code"] == 3


def test_json_that_cannot_be_read_is_a_sentence(prices, shell, monkeypatch):
    for text in ("[" * 100_000, "{", "[1" + "0" * 5000 + "]", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        code, _, err = shell("tell", prices, "weekly", "--json")
        assert code == 2
        assert "JSON on standard input" in json.loads(err)["error"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"id": 2, "value": "much"}, "value must be a number"),
        ({"id": 99, "value": 1.0}, "no trial 99"),
        ({"id": 1, "value": 77.0}, "told twice here"),
        ({"id": 2, "value": 1.0, "x_deployed": [1.0]}, "x_deployed must have length 2"),
    ],
)
def test_many_answers_are_recorded_all_or_none(prices, shell, wrong, words):
    shell("ask", prices, "weekly", "--count", 2)
    _, _, err = shell("tell", prices, "weekly", "--json", stdin=[{"id": 1, "value": 2.0}, wrong])
    said = json.loads(err)["error"]
    assert said.startswith("answer 2 of 2")
    assert words in said
    assert "None of the 2 answers was recorded" in said
    assert {trial.state for trial in Study.open(prices, "weekly").trials()} == {"pending"}


def test_a_password_is_never_echoed(shell, monkeypatch):
    monkeypatch.setattr(database, "GIVE_UP_AFTER", 0.0)
    secret = "hunter2"
    create = ("a", "--x0=1", "--budget", 12, "--radius", 1)
    for url in (
        f"postgresql://u:{secret}@127.0.0.1:1/db",
        f"postgresql://u@127.0.0.1:1/db?password={secret}",
        f"postgres://u:{secret}@h/db",
        f"mysql://u:{secret}@h/db",
        f"postgresql://u:{secret}@h:port/db",
        f"postgresql+nothing://u:{secret}@h/db",
    ):
        for words in (("create", url, *create, "--json"), ("show", url, "a", "--json")):
            code, out, err = shell(*words)
            assert code in (1, 2)
            assert secret not in out + err
            assert json.loads(err)["error"]
