"""Slips at the shell: what is typed wrong, told twice or far off is answered with what to type."""

import json

import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("21,4", "got '21,4'; type 21.4, with a point"),
        ("21.4 EUR", "got '21.4 EUR'; type 21.4, without a unit"),
        ("€21.4", "type 21.4, without a unit"),
        ("1.234,5", "got '1.234,5'; type digits with a point and nothing else"),
        ("1 234.5", "type digits with a point and nothing else"),
        ("1_000", "got '1_000'; type digits with a point and nothing else"),
        ("", "value must be a number, got ''"),
        ("much", "value must be a number, got 'much'"),
    ],
)
def test_how_a_number_is_typed(prices, shell, typed, said):
    shell("ask", prices, "weekly")
    for command in ("tell", "correct"):
        code, _, err = shell(command, prices, "weekly", 1, typed, "--json")
        assert code == 2
        assert json.loads(err)["error"].endswith(said)
    assert Study.open(prices, "weekly").trials()[0].state == "pending"


def test_a_list_with_a_unit_in_it(tmp_path, shell):
    code, _, err = shell("create", tmp_path / "a.db", "a", "--x0", "2.20 €", "--budget", 9, "--json")
    assert (code, json.loads(err)["error"]) == (
        2,
        "--x0: '2.20 €' is not a number; type 2.20, without a unit",
    )


def test_blanks_after_commas_are_no_part_of_what_is_typed(tmp_path, shell):
    words = ["--x0", "1, 2", "--radius", "0.1, 0.2", "--names", "tea, mug", "--covariates", "footfall, rain"]
    words += ["--bounds", "0:3, 0: 4", "--grid", "0.1, ", "--budget", 9]
    assert shell("create", tmp_path / "a.db", "a", *words)[0] == 0
    spec = Study.open(tmp_path / "a.db", "a").spec
    assert (spec.x0, spec.names, spec.covariates) == ([1.0, 2.0], ["tea", "mug"], ["footfall", "rain"])
    assert spec.bounds == [[0.0, 3.0], [0.0, 4.0]]
    shell("ask", tmp_path / "a.db", "a")
    told = ("tell", tmp_path / "a.db", "a", 1, "5", "--covariate", "rain = 1", "--x-deployed", "1, 2")
    assert shell(*told)[0] == 0


def test_what_was_created_and_what_to_deploy_first(tmp_path, shell):
    place = tmp_path / "my shop.db"
    code, out, _ = shell("create", place, "a", "--x0", "2", "--radius", 0.1, "--budget", 9)
    assert (code, out.splitlines()) == (
        0,
        [
            "study 'a' created: 9 deployments, minimize by auto. What to deploy first:",
            f"  driftopt study ask '{place}' a",
        ],
    )


def test_a_failure_says_why(prices, shell):
    shell("ask", prices, "weekly")
    code, out, _ = shell("tell", prices, "weekly", 1, "21.4", "--x-deployed", "1.9,1.9")
    assert (code, out.startswith("trial 1: failed: deployed 2.")) == (0, True)
    shell("ask", prices, "weekly")
    assert shell("tell", prices, "weekly", 2, "nan")[1] == "trial 2: failed: the value is nan\n"


def test_a_conflict_says_what_stands(prices, shell):
    shell("ask", prices, "weekly")
    shell("tell", prices, "weekly", 1, "-21.9")
    shell("correct", prices, "weekly", 1, "21.9")
    code, _, err = shell("tell", prices, "weekly", 1, "22")
    assert code == 5
    assert "was already told -21.9, then corrected 21.9; it cannot also be 22.0" in err


@pytest.mark.parametrize("place", ["1.9,1.9", None])
def test_a_conflict_about_the_place_says_what_works(prices, shell, place):
    """Far from the asked point or within the tolerance: no correction says where it was."""
    x = json.loads(shell("ask", prices, "weekly", "--json")[1])["x"].values()
    shell("tell", prices, "weekly", 1, 5)
    near = ",".join(str(one + 0.001) for one in x)
    code, _, err = shell("tell", prices, "weekly", 1, 5, f"--x-deployed={place or near}")
    assert code == 5
    assert "cannot be corrected; if it was elsewhere, `void` takes the answer back" in err
    if place is None:
        assert "`correct` replaces" in shell("tell", prices, "weekly", 1, 6, f"--x-deployed={near}")[2]
    shell("void", prices, "weekly", 1)
    assert "`correct` replaces" in shell("tell", prices, "weekly", 1, 6)[2]


def test_what_does_not_count_is_said_to_whoever_deploys_it(tmp_path, shell):
    path = tmp_path / "a.db"
    shell("create", path, "a", "--x0", "2,5", "--radius", 0.3, "--budget", 24, "--settle", 2)
    assert "trial 1 (settle): people get used to it" in shell("ask", path, "a")[1]
    shell("tell", path, "a", 1, 7)
    assert "trial 2 (method): keep what is deployed\n" in shell("ask", path, "a")[1]


def test_a_file_that_is_no_export(tmp_path, prices, shell):
    for content, why in ((b"SQLite format 3\x00\xff", "it is no text"), (b"{}", "it has no 'study'")):
        (tmp_path / "a.json").write_bytes(content)
        code, _, err = shell("import", tmp_path / "b.db", tmp_path / "a.json", "--json")
        assert code == 2
        assert f"is no file that `export` wrote as .json ({why})" in json.loads(err)["error"]


def test_an_answer_that_comes_too_late_is_told_so(tmp_path, clock, shell):
    """A week late, when another holder has answered: kept, not used, and the sentence names that one."""
    study = Study.create(tmp_path / "a.db", "a", budget=20, clock=clock, **PLAIN)
    late, other = study.ask(holder="ana"), study.ask(holder="bo")
    clock.now += 8 * 86400
    again, _ = study.ask(holder="cy"), study.ask(holder="di")
    for trial in (again, other):
        study.tell(trial.id, 7.5)
    code, out, _ = shell("tell", tmp_path / "a.db", "a", late.id, 7.1)
    assert (code, out.startswith(f"trial {late.id}: superseded: it came late")) == (0, True)
    code, _, err = shell("correct", tmp_path / "a.db", "a", late.id, 7.2, "--json")
    assert code == 2
    assert f"is not used, since trial {again.id} was asked in its place" in json.loads(err)["error"]
    listed = shell("trials", tmp_path / "a.db", "a")[1].splitlines()
    assert listed[3].endswith(f"di  [trial {other.id} answered first]")


def test_a_token_that_is_wrong_says_where_it_is_taken_from(http_url, monkeypatch, shell):
    monkeypatch.setenv("DRIFTOPT_TOKEN", "no-token-that-this-server-knows")
    code, _, err = shell("list", http_url, "--json")
    assert code == 2
    assert json.loads(err)["error"].endswith("token=…, or DRIFTOPT_TOKEN in the environment")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--x0 2,5 --budget 10 --reserve 12", "a reserve of 12 is too small: of the deployments it leaves 0"),
        ("--x0 2,5 --budget 10 --reserve 9", "of the deployments it leaves 1 to the method, which needs 2"),
        ("--x0 2.22,5 --budget 40 --grid 0.05", "0.05@2.22 in the shell"),
        ("--x0 2,5 --budget 40 --radius 0,2", "got [0.0, 2.0]"),
        ("--x0 2 --budget 40 --grid 0,05", "grid must be one step for all, or one for each coordinate"),
    ],
)
def test_what_a_new_study_lacks(tmp_path, shell, given, said):
    words = given.split() if "--radius" in given else [*given.split(), "--radius", "0.1"]
    code, _, err = shell("create", tmp_path / "a.db", "a", *words, "--json")
    assert code == 2
    assert said in json.loads(err)["error"]
