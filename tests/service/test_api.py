"""Asking and telling over a real socket: the same study as in Python, with the same sentences."""

import json

import pytest

from driftopt.study import Study
from support.servers import OTHERS, PLAN, SECRET, client, refused
from support.study_worlds import PLAIN, bowl


def test_a_study_over_http_is_the_same_to_the_bit(http, create):
    """Asked and told by HTTP, by a client that knows only JSON, it leads where Python leads."""
    at = create()
    plain = Study.create("sqlite://", "plain", budget=12, **PLAIN)
    while (asked := http.post(f"{at}/trials:ask")).status_code == 200:
        (trial,) = asked.json()["trials"]
        own = plain.ask()
        assert list(trial["x"].values()) == own.x.tolist()
        told = http.post(f"{at}/trials/{trial['id']}:tell", json={"value": bowl(own)})
        assert told.json() == {"id": trial["id"], "state": "complete", "doubts": []}
        plain.tell(own.id, bowl(own))
    assert "Ask for the recommendation" in refused(asked, 410, "BudgetSpent")
    found = http.get(f"{at}/recommendation").json()
    assert list(found["x"].values()) == plain.recommend().x.tolist()
    assert list(found["x"]) == ["tea", "oil"]
    assert (found["results"], found["spent"], found["known"]) == (12, 12, plain.recommend().known)
    summary = http.get(f"{at}/summary").json()
    assert summary["states"]["complete"] == 12
    assert summary["values"] == json.loads(json.dumps(plain.summary().as_dict["values"]))


def test_refusals_say_what_python_says(http, create):
    at = create()
    first, second = http.post(f"{at}/trials:ask", json={"count": 2, "holder": "till 3"}).json()["trials"]
    nothing = http.post(f"{at}/trials:ask")
    assert "every point of the iteration is out: trial" in refused(nothing, 423, "NothingToAsk")
    assert [one["holder"] for one in nothing.json()["holdings"]] == ["till 3", "till 3"]
    assert nothing.headers["retry-after"] == "3600"
    tell = f"{at}/trials/{first['id']}:tell"
    assert http.post(tell, json={"value": 12.5}).json()["state"] == "complete"
    assert http.post(tell, json={"value": 12.5}).status_code == 200
    conflict = refused(http.post(tell, json={"value": 13.0}), 409, "Conflict")
    assert conflict.startswith(f"trial {first['id']} was already told 12.5; it cannot also be 13.0")
    missing = http.post(f"{at}/trials/999999:tell", json={"value": 1})
    assert refused(missing, 404, "UnknownTrial").startswith("this study has no trial 999999: `trials`")
    assert "this server holds no study 'nowhere'" in refused(
        http.get("/v1/studies/nowhere"), 404, "NoSuchStudy"
    )
    exists = http.post("/v1/studies", json={"name": "x", "budget": 12} | PLAN)
    assert exists.status_code == 201
    assert "already holds a study 'x'" in refused(
        http.post("/v1/studies", json={"name": "x", "budget": 12} | PLAN), 409, "StudyExists"
    )
    wrong = http.post("/v1/studies", json={"name": "y", "budget": 12, "x0": [1.0], "radius": -1})
    assert refused(wrong, 422, "ValueError") == "radius must be finite and > 0, got -1"
    failed = http.post(f"{at}/trials/{second['id']}:fail", json={"reason": "empty shelf"}).json()
    assert (failed["id"], failed["state"]) == (second["id"], "failed")


@pytest.mark.parametrize("value", [None, "NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_a_failure(http, create, value):
    at = create(f"no number {value}")
    (trial,) = http.post(f"{at}/trials:ask").json()["trials"]
    assert http.post(f"{at}/trials/{trial['id']}:tell", json={"value": value}).json()["state"] == "failed"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"value": "12.5"},
        {"value": True},
        {"value": [1.0]},
        {"value": 1.0, "price": 2},
        {"value": 1.0, "sem": -1},
        {"value": 1.0, "x_deployed": [1.0]},
        {"value": 1.0, "x_deployed": {"tea": 1.0}},
        [],
    ],
)
def test_an_answer_that_cannot_be_is_refused_and_changes_nothing(http, create, answer):
    at = create(f"refused {answer}")
    (trial,) = http.post(f"{at}/trials:ask").json()["trials"]
    refused(http.post(f"{at}/trials/{trial['id']}:tell", json=answer), 422, "ValueError")
    assert http.get(f"{at}/trials/{trial['id']}").json()["state"] == "pending"


def said_by(call, *given, **named):
    with pytest.raises(ValueError) as error:
        call(*given, **named)
    return str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": -1},
        {"budget": 1.5},
        {"x0": [1.0, "b"]},
        {"radius": "x"},
        {"direction": "up"},
        {"parallel": 0},
        {"parallel": 1001, "budget": 10_000},
    ],
)
def test_what_does_not_fit_is_refused_in_pythons_words(http, tmp_path, wrong):
    plan = {"x0": [1.0, 2.0], "budget": 12, "radius": 0.3} | wrong
    got = http.post("/v1/studies", json={"name": "a"} | plan)
    assert refused(got, 422, "ValueError") == said_by(Study.create, tmp_path / "a.db", "a", **plan)


def test_an_answer_that_does_not_fit_is_named_by_its_number(http, create):
    at = create()
    answers = [{"id": 1, "value": 1.0}, {"id": 2, "value": "much"}]
    got = http.post(f"{at}/trials:tell", json={"answers": answers})
    said = refused(got, 422, "ValueError")
    assert said.startswith("answer 2 of 2: value must be a number, got 'much'")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"bounds": [[0.0, "a"], [0.0, 1.0]]}, "bounds must be 2 pairs (low, high)"),
        ({"limits": {"complaints": {"max": []}}}, "limits['complaints']['max'] must be a number"),
        ({"params": {"radius": []}}, "params: the model has no radius"),
        ({"holder": "me"}, "holder: unknown. The study takes x0, budget"),
    ],
)
def test_a_place_within_an_argument_is_named(http, wrong, said):
    plan = {"name": "a", "x0": [1.0, 2.0], "budget": 12, "radius": 0.3} | wrong
    assert refused(http.post("/v1/studies", json=plan), 422, "ValueError").startswith(said)


def test_the_log_says_who_told_and_who_failed(server, create):
    """The token's name, unless somebody is named."""
    at = create()
    with client(server[0], OTHERS["till"][0]) as till:
        first, second = till.post(f"{at}/trials:ask", json={"count": 2}).json()["trials"]
        till.post(f"{at}/trials/{first['id']}:tell", json={"value": 1.0})
        till.post(f"{at}/trials/{second['id']}:fail", json={"who": "ana"})
        (third,) = till.post(f"{at}/trials:ask").json()["trials"]
        till.post(f"{at}/trials:tell", json={"answers": [{"id": third["id"], "value": 2.0}]})
        changes = till.get(f"{at}/changes").json()["changes"]
    said = [(one["kind"], one["who"]) for one in changes if one["kind"] in ("complete", "failed")]
    assert said == [("complete", "till"), ("failed", "ana"), ("complete", "till")]


def test_trials_come_in_pages(http, create):
    at = create(parallel=3)
    ids = [one["id"] for one in http.post(f"{at}/trials:ask", json={"count": 6}).json()["trials"]]
    http.post(f"{at}/trials/{ids[1]}:tell", json={"value": 1.0})

    def pages(**query):
        found, after = [], None
        while True:
            params = query | ({} if after is None else {"after": after})
            page = http.get(f"{at}/trials", params=params).json()
            found.append([one["id"] for one in page["trials"]])
            after = page["next"]
            if after is None:
                return found

    assert pages() == [ids]
    assert pages(limit=4) == [ids[:4], ids[4:]]
    assert pages(limit=4, order="newest") == [ids[:1:-1], ids[1::-1]]
    assert pages(state="complete") == [[ids[1]]]
    assert pages(state="pending", limit=5) == [[ids[0], *ids[2:]]]
    assert pages(holder="nobody") == [[]]
    assert pages(kind="control") == [[]]
    assert http.get(f"{at}/trials", params={"limit": 0}).status_code == 422


def test_python_names_the_coordinates_of_a_remote_study(server):
    study = Study.create(server[0], "named", token=SECRET, x0={"tea": 1.0, "oil": 2.0}, budget=12)
    assert (study.spec.names, study.spec.x0) == (["tea", "oil"], [1.0, 2.0])
