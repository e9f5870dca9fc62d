"""The commands of those who look after studies."""

import json

import pytest


def test_a_stopped_study_does_not_go_on(prices, shell):
    assert shell("resume", prices, "weekly")[0] == 0  # it goes on anyway
    shell("stop", prices, "weekly", "the shop closes")
    code, out, err = shell("resume", prices, "weekly", "--json")
    assert (code, out) == (2, "")
    assert json.loads(err)["error"].startswith("the study was stopped (the shop closes): create another one")


def test_studies_are_listed_stopped_moved_and_deleted(prices, shell, tmp_path):
    decision = shell("ask", prices, "weekly", "--holder", "till")[1].splitlines()[1:]
    assert all(len(line.split(".")[1]) <= 3 for line in decision), decision  # as it is typed
    shell("tell", prices, "weekly", 1, "214")
    code, out, _ = shell(
        "correct", prices, "weekly", 1, "21.4", "--reason", "lost decimal point", "--who", "ana"
    )
    assert (code, out) == (0, "trial 1: complete, now 21.4\n")
    _, out, _ = shell("trials", prices, "weekly")
    assert out.startswith("1  method  complete 21.4  till\n   tea ")
    assert max(map(len, out.splitlines())) <= 80
    assert "complete 214.0; corrected 21.4 by ana (lost decimal point)" in out
    assert json.loads(shell("trials", prices, "weekly", "--state", "pending", "--json")[1]) == []
    assert shell("void", prices, "weekly", 1, "no")[1] == "trial 1: voided\n"
    assert shell("correct", prices, "weekly", 1, "21.4", "found it")[1] == "trial 1: complete, now 21.4\n"
    assert shell("void", prices, "weekly", 1, "--reason", "no")[1] == "trial 1: voided\n"
    assert json.loads(shell("trials", prices, "weekly", "--json")[1])[0]["value"] is None
    assert "rows, all as they were written" in shell("verify", prices, "weekly")[1]
    assert shell("stop", prices, "weekly", "the shop closes")[0] == 0
    code, _, err = shell("ask", prices, "weekly")
    assert (code, "the shop closes" in err) == (4, True)
    _, out, _ = shell("list", prices)
    assert out.startswith("weekly  1 of 12 deployments")
    assert out.endswith(" (UTC), stopped\n")
    shell("export", prices, "weekly", tmp_path / "a.json")
    there = tmp_path / "there.db"
    assert shell("import", there, tmp_path / "a.json", "--name", "moved")[1].startswith(
        "study 'moved' imported"
    )
    assert [one["name"] for one in json.loads(shell("list", there, "--json")[1])] == ["moved"]
    with pytest.raises(ValueError, match=r"there is no file .*gone\.json; `export` writes one"):
        shell("import", there, tmp_path / "gone.json")
    with pytest.raises(ValueError, match="--yes is needed"):
        shell("delete", there, "moved")
    assert shell("delete", there, "moved", "--yes")[0] == 0
    assert shell("list", there)[1] == "no studies\n"
