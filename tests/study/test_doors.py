"""What a study lets in: names that every place can show, numbers that are numbers; and what it lets out."""

import csv
import errno
import math
import os

import numpy as np
import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN, drive

LONG = "x" * 201
BAD_TEXT = ["", "   ", "a\x00b", "a\x1b[31mb", "a\nb", "a\ud800b", "a\u202eb", "a\u2028b", LONG, 7, None]


@pytest.mark.parametrize("wrong", BAD_TEXT)
def test_one_rule_for_names(sqlite_url, wrong):
    with pytest.raises(ValueError, match="name must"):
        Study.create(sqlite_url, wrong, budget=12, **PLAIN)
    with pytest.raises(ValueError, match="names must"):
        Study.create(sqlite_url, "a", names=["tea", wrong], budget=12, **PLAIN)


@pytest.mark.parametrize("wrong", [text for text in BAD_TEXT if text])
def test_the_same_rule_for_holders_and_reasons(wrong):
    study = Study.create("sqlite://", "b", budget=12, **PLAIN)
    with pytest.raises(ValueError, match="holder must"):
        study.ask(holder=wrong)
    trial = study.ask(holder="me")
    with pytest.raises(ValueError, match="reason must"):
        study.fail(trial.id, 11 * wrong if wrong == LONG else wrong)
    assert [found.state for found in study.trials()] == ["pending"]


def test_names_of_every_tongue_are_let_in(sqlite_url):
    names = ["thé vert [€]", "قهوة", "紅茶 🍵", "$x$ =1+1"]
    study = Study.create(
        sqlite_url, "Wöchentlich – 価格", x0=[1.0] * 4, names=names, radius=0.3, budget=12, rng=0
    )
    trial = study.ask(holder="Zoë’s till")
    study.fail(trial.id, "pas de stock… 🙁")
    found = Study.open(sqlite_url, "Wöchentlich – 価格").trials()[0]
    assert (found.holder, found.reason, list(found.names)) == ("Zoë’s till", "pas de stock… 🙁", names)


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        np.timedelta64(5),
        np.datetime64(5, "s"),
        "1.5",
        " 1_000.5 ",
        b"1",
        None,
        [1.0],
        {"a": 1},
        1j,
        10**400,
    ],
)
def test_what_is_no_number_is_refused(value):
    study = Study.create("sqlite://", "a", budget=12, **PLAIN)
    trial = study.ask()
    with pytest.raises(ValueError, match="value"):
        study.tell(trial.id, value)
    if value is not None:
        with pytest.raises(ValueError, match="sem"):
            study.tell(trial.id, 1.0, sem=value)
    assert study.trials()[0].state == "pending"


@pytest.mark.parametrize("id", [[3], True, 1.5, "1", {"a": 1}, 0, -1, None, math.nan])
def test_what_is_no_trials_number_is_refused(id):
    study = Study.create("sqlite://", "a", budget=12, **PLAIN)
    study.ask()
    for say in (
        lambda: study.tell(id, 1.0),
        lambda: study.fail(id),
        lambda: study.tell_many([{"id": id, "value": 1}]),
    ):
        with pytest.raises(ValueError, match="id"):
            say()


def test_a_spreadsheet_finds_no_formula(tmp_path):
    study = Study.create("sqlite://", "a", names=["=1+1", "@tea"], budget=12, **PLAIN)
    study.fail(study.ask(holder="+cmd|' /C calc'!A0").id, "-2+3")
    with study.export(tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        head, row = csv.reader(file)
    told = dict(zip(head, row, strict=True))
    assert (told["holder"], told["reason"]) == ("'+cmd|' /C calc'!A0", "'-2+3")
    assert not [cell for cell in head if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "png"])
def test_a_full_disk_leaves_the_old_file(tmp_path, suffix, monkeypatch):
    study = drive(Study.create("sqlite://", "a", budget=12, **PLAIN))
    path = tmp_path / f"t.{suffix}"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ValueError, match="cannot write"):
        study.plot(path) if suffix == "png" else study.export(path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_the_improvements_error_is_that_of_the_pairs():
    """A season that swings by 40 moves both sides of a pair alike: the gain of 2 is known exactly."""
    study = Study.create("sqlite://", "a", budget=40, **PLAIN)
    for pair in range(8):
        for side in range(2):
            trial = study.ask("confirm")
            assert (trial.point, trial.sample) == (pair, side)
            study.tell(trial.id, 40.0 * math.sin(pair) - 2.0 * side)
    gain = study.recommend().improvement
    assert gain.mean == pytest.approx(2.0)
    assert gain.sem == pytest.approx(0.0, abs=1e-12)
    assert (gain.start.n, gain.recommended.n, gain.basis) == (8, 8, "confirming pairs")


@pytest.mark.parametrize("method", ["model", "walk", "zo-o2nc-2pt", "zo-sph"])
def test_a_value_too_large_to_compute_with_is_a_failure_and_the_study_goes_on(method):
    given = {"step": 0.1} if method == "zo-sph" else {}
    study = Study.create(
        "sqlite://",
        "a",
        x0=[1.0, -0.5],
        method=method,
        radius=1e-6,
        params=given,
        budget=24,
        rng=0,
        outliers=False,
    )
    for value in (1e308, -1e308):
        assert study.tell(study.ask().id, value) == "failed"
    assert "too large to compute with" in study.trials()[0].reason
    for value in (1e50, -1e50) * 4:
        assert study.tell(study.ask().id, value) == "complete"
    assert np.isfinite(study.recommend().x).all()
    assert np.isfinite(study.ask().x).all()


def test_max_change_and_bounds_of_different_widths_need_a_radius():
    """Else trials as small as the narrowest width would move the widest coordinate nowhere, in silence."""
    plan = {"x0": [2.0, 200.0], "bounds": [(1, 3), (100, 500)], "max_change": 2.0, "budget": 60, "rng": 0}
    with pytest.raises(ValueError, match="widths of the bounds differ: give radius"):
        Study.create("sqlite://", "a", **plan)
    assert Study.create("sqlite://", "a", **plan, radius=[0.3, 60.0]).spec.space.given["units"]
    assert Study.create("sqlite://", "a", **plan, radius=0.5).spec.units == [0.5, 0.5]
    even = {**plan, "bounds": [(1, 3), (199, 201)]}
    assert Study.create("sqlite://", "a", **even).spec.max_change == 2.0
