"""What is told beside a value, from the shell."""

import json

from driftopt.study import Study


def create(shell, path, *more):
    words = ("--x0", "1,1", "--radius", "0.3", "--budget", "40", "--rng", "1", *more)
    assert shell("create", path, "shop", *words)[0] == 0


def test_covariates_n_and_control_are_told_and_corrected(tmp_path, shell):
    path = tmp_path / "a.db"
    create(shell, path, "--covariates", "footfall,rain", "--relative-to-control")
    shell("ask", path, "shop")
    words = ("--covariate", "footfall=120", "--covariate", "rain=-0.5", "--n", "40", "--control", "12")
    assert shell("tell", path, "shop", "1", "12.5", *words)[0] == 0
    (row,) = json.loads(shell("trials", path, "shop", "--json")[1])
    assert row["covariates"] == {"footfall": 120.0, "rain": -0.5}
    assert (row["n"], row["control"]) == (40.0, 12.0)
    assert shell("correct", path, "shop", "1", "12.5", "--covariate", "footfall=12")[0] == 0
    assert Study.open(path, "shop").trials()[0].covariates == {"footfall": 12.0}
    shell("ask", path, "shop")
    answer = {"id": 2, "value": 3.0, "covariates": {"rain": None}, "n": 7}
    assert shell("tell", path, "shop", "--json", stdin=answer)[0] == 0
    for wrong in ("footfall", "=3", "footfall=much", "wind=3"):
        assert shell("tell", path, "shop", "2", "3", "--covariate", wrong, "--json")[0] == 2


def test_a_hard_limit_halts_and_resume_goes_on(tmp_path, shell):
    path = tmp_path / "a.db"
    create(shell, path, "--limits", '{"complaints": {"max": 5, "hard": true}}')
    for id, code in ((1, 0), (2, 7), (3, 0), (4, 7)):
        if id == 3:
            assert shell("resume", path, "shop", "counted twice")[:2] == (0, "study 'shop' goes on\n")
        assert shell("ask", path, "shop")[0] == 0
        told = shell("tell", path, "shop", id, "12.5", "--metric", "complaints=9")
        assert told[:2] == (code, f"trial {id}: complete\n")
    assert "Deploy the start again" in told[2]
    code, _, error = shell("ask", path, "shop")
    assert code == 7
    assert "Deploy the start again" in error
    assert "halted" in shell("show", path, "shop")[1]
    assert "complaints: 9" in shell("recommend", path, "shop")[1]
    shell("stop", path, "shop")
    assert shell("ask", path, "shop", "--purpose", "confirm")[0] == 7
    said = "study 'shop' is stopped, but may be confirmed again\n"
    assert shell("resume", path, "shop", "counted twice")[:2] == (0, said)
    assert shell("ask", path, "shop", "--purpose", "confirm")[0] == 0
