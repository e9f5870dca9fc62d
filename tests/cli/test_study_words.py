"""Slips at the shell: what is typed wrong, told twice or far off is answered with what to type."""

import json

import pytest

from driftopt.study import Study


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


@pytest.mark.parametrize("typed", ["4,50,8,50", "12,99"])
def test_decimal_commas_are_not_taken_for_more_prices(tmp_path, shell, typed):
    few, many = typed.count(",") // 2 + 1, typed.count(",") + 1
    code, _, err = shell("create", tmp_path / "a.db", "a", "--x0", typed, "--json")
    assert code == 2
    said = json.loads(err)["error"]
    assert said.startswith(f"--x0 {typed} may be {few} or {many} numbers: type ")
    assert shell("create", tmp_path / "a.db", "a", "--x0", typed.replace(",", ", "), "--json")[0] == 0
    assert len(Study.open(tmp_path / "a.db", "a").spec.x0) == many


def test_a_person_at_a_terminal_is_shown_the_value_again_and_what_to_type_next(prices, shell, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    _, out, _ = shell("ask", prices, "weekly")
    assert out.endswith(f"next: driftopt study tell {prices} weekly 1 VALUE\n")
    shell("tell", prices, "weekly", 1, 2130)
    shell("ask", prices, "weekly")
    _, out, _ = shell("tell", prices, "weekly", 2, 213)
    assert out.splitlines()[1:] == [
        "you reported 213; so far 2130 to 2130",
        f"next: driftopt study ask {prices} weekly",
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [(("--grid", "0.05"), "grid: pot = 19.99 is on no step"), (("--bounds", "1:30,1:9"), "bounds in pot: ")],
)
def test_what_is_wrong_with_a_coordinate_is_said_by_its_name(tmp_path, shell, wrong, said):
    words = ("--x0", "2.5,19.99", "--names", "tea,pot", "--json", *wrong)
    code, _, err = shell("create", tmp_path / "a.db", "a", *words)
    assert (code, said in json.loads(err)["error"]) == (2, True)
