"""The owner's commands: forecast, why, outlook, dates, early values, a study that begins again, reminders."""

import json

import pytest

from driftopt.study import Study


@pytest.fixture
def shop(tmp_path, shell):
    place = tmp_path / "shop.db"
    given = ("--x0", "3,2", "--names", "tea,mug", "--unit", "€", "--season", "weekday", "--rng", "3")
    with pytest.raises(ValueError, match="direction is needed"):
        shell("create", place, "shop", *given)
    assert shell("create", place, "shop", *given, "--direction", "maximize")[0] == 0
    for day in range(1, 13):
        trial = json.loads(shell("ask", place, "shop", "--json")[1])
        value = 1000 + 40 * trial["x"]["tea"] + 3 * (day % 4)
        if day == 5:
            assert shell("tell", place, "shop", trial["id"], value - 60, "--early")[0] == 0
        assert shell("tell", place, "shop", trial["id"], value, "--at", f"2026-11-{day:02d}")[0] == 0
    return place


def test_an_owner_sees_money_and_why(shop, shell):
    out = shell("show", shop, "shop")[1]
    assert "the search has" in out
    assert "stopping now forgoes at most €" in out
    assert "changes the value by €" in shell("why", shop, "shop")[1]
    assert "20 more days would add about" in shell("outlook", shop, "shop", "--deployments", "20")[1]
    money = json.loads(shell("show", shop, "shop", "--json")[1])["summary"]["money"]
    assert (money["unit"], money["period"], money["months"][0]["month"]) == ("€", "day", "2026-11")


def test_a_study_begins_again(shop, shell):
    code, out, _ = shell("new", shop, "next", "--from", "shop")
    assert code == 0
    assert "12 results of 'shop' are its history" in out
    with Study.open(str(shop), "next") as study:
        assert len(study.spec.history) == 12


def test_a_forecast_from_the_shell(tmp_path, shell):
    path = tmp_path / "past.csv"
    path.write_text(
        "date,profit\n" + "\n".join(f"2026-01-{day:02d},{2000 + 9 * (day % 5)}" for day in range(1, 29))
    )
    code, out, _ = shell(
        "forecast", path, "--coordinates", 2, "--value", "profit", "--days", "5,10", "--unit", "€"
    )
    assert code == 0
    assert "gain a day afterwards" in out
    code, out, _ = shell("forecast", "--level", 10, "--noise", 1, "--coordinates", 2, "--days", "5", "--json")
    assert json.loads(out)["horizons"][0]["days"] == 5
    with pytest.raises(ValueError, match="no column 'sales'"):
        shell("forecast", path, "--coordinates", 2, "--value", "sales")
