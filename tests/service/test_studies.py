"""Studies as a whole over a real socket: created once, shared, extended, exported, deleted; any name."""

import csv
import io

import numpy as np
import pytest

from driftopt.study import Study, delete, load, studies
from support.servers import PLAN, SECRET, refused
from support.study_worlds import PLAIN, drive


def test_a_study_is_extended_and_stopped(http, create):
    at = create()
    assert http.post(f"{at}:extend", json={"budget": 20}).json()["budget"] == 20
    assert "must be more than the present 20" in refused(
        http.post(f"{at}:extend", json={"budget": 4}), 422, "ValueError"
    )
    assert http.post(f"{at}:stop", json={"reason": "summer is over"}).json()["stopped"] == "summer is over"
    assert "the study was stopped (summer is over)" in refused(
        http.post(f"{at}/trials:ask"), 410, "BudgetSpent"
    )


def test_a_study_is_deleted_when_its_name_is_repeated(http, create):
    at = create("gone")
    http.post(f"{at}/trials:ask")
    assert "repeat the study's name" in refused(http.delete(at), 422, "ValueError")
    assert http.delete(at, params={"confirm": "another"}).status_code == 422
    assert http.delete(at, params={"confirm": "gone"}).json() == {"name": "gone", "rows": 2}
    refused(http.get(at), 404, "NoSuchStudy")
    assert http.get(create("gone")).json()["spent"] == 0


def test_a_deletion_that_is_repeated_is_done_once(http, create, server):
    key = {"Idempotency-Key": "gone"}
    at = create("twice")
    deleted = [http.delete(at, params={"confirm": "twice"}, headers=key).json() for _ in range(2)]
    assert deleted == [{"name": "twice", "rows": 0}] * 2
    create("twice")  # another one of that name is not what the request was about
    assert http.delete(at, params={"confirm": "twice"}, headers=key).json() == deleted[0]
    assert http.get(at).status_code == 200
    create("other")
    other = http.delete("/v1/studies/other", params={"confirm": "other"}, headers=key)
    assert "came before with another request" in refused(other, 422, "ValueError")


def test_a_study_is_taken_over_from_its_file(http, create, server, tmp_path, monkeypatch):
    """By HTTP and by Python's `load`: the same study to the bit; a changed file is refused."""
    at, name = create(), "test_a_study_is_taken_over_from_its_file"
    drive(Study.open(server[1].label, name))
    whole = http.get(f"{at}/export", params={"format": "json"}).json()
    key = {"Idempotency-Key": "move"}
    for _ in range(2):
        created = http.post("/v1/studies:import", params={"name": "moved"}, json=whole, headers=key)
        assert (created.status_code, created.json()["name"], created.json()["spent"]) == (201, "moved", 12)
    recommended = http.get(f"{at}/recommendation").json()
    assert http.get("/v1/studies/moved/recommendation").json() == recommended
    refused(http.post("/v1/studies:import", json=whole), 409, "StudyExists")
    path = Study.open(server[1].label, name).export(tmp_path / "a.json")
    monkeypatch.setenv("DRIFTOPT_TOKEN", SECRET)
    loaded = load(server[0], path, "by Python")
    assert loaded.recommend().as_dict == recommended["x"]
    assert "cannot be part of an address" in refused(
        http.post("/v1/studies:import", params={"name": ".."}, json=whole), 422, "ValueError"
    )
    whole["log"]["rows"][-1][4] = 77.0
    changed = http.post("/v1/studies:import", params={"name": "changed"}, json=whole)
    assert "the body is not as `export` wrote it" in refused(changed, 422, "ValueError")


@pytest.mark.parametrize(
    "name",
    [
        "a/b",
        "a/b/trials/1:tell",
        "a%2Fb",
        "%",
        "a?b#c",
        "...",
        "a:stop",
        "tea & oil",
        "שלום",
        "日本 ¥",
        "x" * 200,
    ],
)
def test_every_name_finds_its_study(http, create, name):
    at = create(name)
    assert http.get(at).json()["name"] == name
    (trial,) = http.post(f"{at}/trials:ask").json()["trials"]
    assert http.post(f"{at}/trials/{trial['id']}:tell", json={"value": 1.0}).status_code == 200
    assert name in [one["name"] for one in http.get("/v1/studies").json()["studies"]]


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_browsers_cannot_send_is_refused(http, name):
    created = http.post("/v1/studies", json={"name": name, "budget": 12} | PLAN)
    assert "cannot be part of an address" in refused(created, 422, "ValueError")


def test_export_is_what_python_exports(http, create, server, tmp_path):
    at = create()
    (trial,) = http.post(f"{at}/trials:ask").json()["trials"]
    http.post(f"{at}/trials/{trial['id']}:tell", json={"value": 1.5})
    study = Study.open(server[1].label, "test_export_is_what_python_exports")
    for suffix in ("csv", "json", "parquet"):
        got = http.get(f"{at}/export", params={"format": suffix})
        assert got.content == study.export(tmp_path / f"a.{suffix}").read_bytes()
        assert got.headers["content-disposition"] == f'attachment; filename="trials.{suffix}"'
    (row,) = csv.DictReader(io.StringIO(http.get(f"{at}/export").text))
    assert (row["value"], row["x:tea"]) == ("1.5", str(trial["x"]["tea"]))


def test_other_processes_may_use_the_database_at_once(http, create, server):
    """What Python did is seen, and a study that was deleted and made anew is the new one."""
    at, name = create("shared"), "shared"
    url = server[1].label
    study = Study.open(url, name)
    trial = study.ask()
    assert http.post(f"{at}/trials/{trial.id}:tell", json={"value": 1.0}).json()["state"] == "complete"
    drive(study)
    assert http.get(f"{at}/summary").json()["states"]["complete"] == 12
    assert np.array_equal(list(http.get(f"{at}/recommendation").json()["x"].values()), study.recommend().x)
    delete(url, name)
    refused(http.get(f"{at}/summary"), 404, "NoSuchStudy")
    Study.create(url, name, budget=12, **PLAIN)
    assert http.get(f"{at}/summary").json()["spent"] == 0
    assert name in [one.name for one in studies(url)]
    delete(url, name)
    Study.create(url, name, budget=14, **PLAIN)
    assert http.post(f"{at}/trials:ask").status_code == 200  # without having looked before
    assert http.get(f"{at}/verification").json() == {"rows": 2}


def test_metrics_count_requests_by_route(http, create):
    at = create()
    http.get(at)
    text = http.get("/metrics").text
    assert 'driftopt_requests_total{method="GET",route="/v1/studies/{name}",status="200"}' in text
    assert 'driftopt_request_seconds_bucket{le="+Inf",method="POST",route="/v1/studies"}' in text
    assert "driftopt_open_streams 0.0" in text
    assert "test_metrics" not in text
