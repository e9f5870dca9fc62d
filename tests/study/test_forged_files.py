"""Exported files that somebody has changed, with a checksum that fits: taken only where a study can go on."""

import copy
import json
import math
import random
import unicodedata

import pytest
import sqlalchemy as sa

from driftopt.study import Study, StudyError, StudyExists, load
from driftopt.study.log import chained, statements, studies
from driftopt.study.records import StudySpec as Spec
from study.test_catalogue import lively
from support.study_worlds import PLAIN, bowl

FILES = 200
WRONG = [
    None, True, -1, 0, 1, 2, 7, 10**9, 2**31, 2**63 - 1, 2**63, 10**30, 0.5, -0.0, 1e308, math.nan, math.inf,
    "", "a", "\x1b[31mred\x1b[0m", "two\nlines", "\x00", "[1.0, NaN]", "[NaN]", "[1, 2]", "[]", "{}",
    '{"n": 1}',
    "x" * 100_000, [], [1.0], {}, "exploded", "corrected", "held", "voided", "method", "way", "stationarity",
]  # fmt: skip


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """The data of two exported studies."""
    folder = tmp_path_factory.mktemp("honest")
    lively(folder / "a.db").export(folder / "a.json")
    other = Study.create(
        folder / "a.db",
        "b",
        budget=60,
        covariates=["rain"],
        limits={"calls": {"max": 5}},
        settle=2,
        **PLAIN | {"params": {"radius": 0.3, "batch": 2}},
    )
    for turn in range(24):
        trial = other.ask()
        other.tell(trial.id, bowl(trial), covariates={"rain": turn / 7}, metrics={"calls": 1.0}, sem=0.1)
    other.extend(70)
    other.stop("enough")
    other.export(folder / "b.json")
    return [json.loads((folder / name).read_text()) for name in ("a.json", "b.json")]


def sealed(whole):
    """The file as a forger writes it: whatever it holds, the checksum is the right one."""
    log = whole["log"]
    try:
        spec = Spec.from_json(json.dumps(whole["spec"])).as_json()
    except Exception:
        spec = json.dumps(whole["spec"])
    checksum = chained("", whole["study"], log["created_at"], spec)
    for kind, *row in log["rows"]:
        checksum = chained(checksum, str(kind).title(), *row)
    log["checksum"] = checksum
    return whole


def forge(whole, rng):
    """Replace one part of a file."""
    rows = whole["log"]["rows"]
    what, at, wrong = rng.randrange(8), rng.randrange(len(rows)), rng.choice(WRONG)
    if what == 0:
        whole["spec"][rng.choice(list(whole["spec"]))] = wrong
    elif what == 1:
        rows.insert(rng.randrange(len(rows)), rows[at])
    elif what == 2:
        rows.pop(at)
    elif what == 3:  # other numbers for the trials
        first = rng.choice((2**31 - 30, 2**63 - 30, 2**30, 0, -5))
        for row in rows:
            if row[0] in ("asked", "happened") and type(row[2]) is int:
                row[2] += first
    elif what == 4:
        whole["log"]["created_at"] = wrong
    else:
        rows[at][rng.randrange(len(rows[at]))] = wrong


def forged(honest, rng):
    """One or two parts of a file replaced; the numbers of its rows are mostly right, to come farther."""
    whole = copy.deepcopy(rng.choice(honest))
    for _ in range(rng.choice((1, 1, 2))):
        forge(whole, rng)
    if rng.random() < 0.7:
        for number, row in enumerate(whole["log"]["rows"], start=1):
            row[1:2] = [number]
    return sealed(whole)


def controls(text):
    return [sign for sign in text if unicodedata.category(sign) == "Cc" and sign != "\n"]


def refusal(url, path, name):
    """What is said of a file that is not taken; None where it is, and its study does all that it should."""
    try:
        study = load(url, path, name)
    except ValueError as refused:
        return str(refused)
    assert not controls("".join(map(str, [study.summary(), study.trials(), study.spec, study.name])))
    study.export(path.with_name("again.json"))
    study.close()
    return None


def test_no_forged_file_is_taken_from_which_no_study_follows(honest, tmp_path):
    rng, url, path = random.Random(1), tmp_path / "there.db", tmp_path / "forged.json"
    other = Study.create(url, "other", budget=4_000, **PLAIN)
    said = []
    for number in range(FILES):
        path.write_text(json.dumps(forged(honest, rng)))
        said.append(refusal(url, path, f"number {number}"))
    trial = other.ask()
    assert trial.id < 10_000
    other.tell(trial.id, 1.0)
    refused = [one for one in said if one is not None]
    assert all(str(path) in one and not controls(one) for one in refused)
    assert FILES / 2 < len(refused) < FILES


@pytest.mark.parametrize("last", [2**31 - 1, 2**63 - 1])
def test_numbers_at_the_end_of_what_there_is_stop_nobody(url, honest, tmp_path, last):
    whole = copy.deepcopy(honest[0])
    highest = max(row[2] for row in whole["log"]["rows"] if row[0] == "asked")
    for row in whole["log"]["rows"]:
        if row[0] != "opened" and row[2] is not None:
            row[2] += last - highest
    (tmp_path / "a.json").write_text(json.dumps(sealed(whole)))
    moved = load(url, tmp_path / "a.json")
    assert [trial.id for trial in moved.trials()] == list(range(1, 22))
    assert Study.create(url, "b", budget=8, **PLAIN).ask().id == 22


def test_numbers_that_are_partly_taken_are_none_of_them_kept(url, tmp_path):
    """Three are taken, and the file begins with the third."""
    here = Study.create(tmp_path / "here.db", "first", budget=8, **PLAIN)
    here.ask_many(2)
    path = lively(tmp_path / "here.db").export(tmp_path / "a.json")
    there = Study.create(url, "there", budget=8, **PLAIN)
    there.tell_many([{"id": one.id, "value": 1.0} for one in there.ask_many(2)])
    there.ask()
    moved = load(url, path)
    assert [trial.id for trial in moved.trials()] == list(range(4, 25))
    assert there.ask().id == 25


def test_free_numbers_are_kept_and_the_next_ones_are_beyond_them(url, tmp_path):
    here = Study.create(tmp_path / "here.db", "first", budget=80, **PLAIN)
    for _ in range(30):
        here.tell(here.ask().id, 1.0)
    moved = load(url, lively(tmp_path / "here.db").export(tmp_path / "a.json"))
    assert [trial.id for trial in moved.trials()] == list(range(31, 52))
    assert moved.ask("confirm").id > 51
    assert Study.create(url, "b", budget=8, **PLAIN).ask().id > 52


def test_two_imports_at_once_are_both_taken(postgres_url, tmp_path, monkeypatch):
    """The second comes in whole while the first has asked which number is free, and nothing more."""
    path = lively(tmp_path / "here.db").export(tmp_path / "a.json")
    Study.create(postgres_url, "other", budget=8, **PLAIN).ask()
    execute, begun = sa.Connection.execute, []

    def slowly(connection, statement, *rest, **more):
        found = execute(connection, statement, *rest, **more)
        if statement is statements.NEXT_ID["postgresql"] and not begun:
            begun.append(1)
            load(postgres_url, path, "second").close()
        return found

    monkeypatch.setattr(sa.Connection, "execute", slowly)
    load(postgres_url, path, "first")
    ids = [trial.id for name in ("first", "second") for trial in Study.open(postgres_url, name).trials()]
    assert begun
    assert len(ids) == len(set(ids)) == 42


def test_a_name_that_is_taken_is_refused_for_that_alone(url, tmp_path, monkeypatch):
    path = lively(tmp_path / "here.db").export(tmp_path / "a.json")
    load(url, path)
    with pytest.raises(StudyExists, match="already holds a study 'a'"):
        load(url, path)
    monkeypatch.setattr(studies, "_renumbered", lambda connection, rows: rows)
    with pytest.raises(StudyError, match="Nothing was recorded") as caught:
        load(url, path, "b")
    assert not isinstance(caught.value, StudyExists)


def test_a_rule_for_decisions_that_is_none_is_refused(honest, tmp_path):
    whole = copy.deepcopy(honest[0])
    whole["spec"]["steps"] = {"colour": "\x1b[31m"}
    (tmp_path / "a.json").write_text(json.dumps(sealed(whole)))
    with pytest.raises(ValueError, match="steps has colour"):
        load("sqlite://", tmp_path / "a.json")


def test_into_memory(tmp_path):
    study = lively(tmp_path / "here.db")
    moved = load("sqlite://", study.export(tmp_path / "a.json"))
    assert moved.recommend().x.tobytes() == study.recommend().x.tobytes()
    assert moved.ask("confirm").state == "pending"


def test_an_iteration_too_large_for_memory_is_refused():
    plan = PLAIN | {"params": {"radius": 0.3, "batch": 10**8}}
    with pytest.raises(ValueError, match="one iteration would need 200000000 deployments"):
        Study.create("sqlite://", "a", budget=2**31 - 1, **plan)
