"""Comparisons: any problem or function, from Python or from TOML."""

import csv
import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest

from driftopt import methods
from driftopt.comparison import compare, tables
from driftopt.comparison.judging import LEVEL, Judged, judge
from driftopt.comparison.tables import HEADS, TEST_HEADS
from driftopt.problems.strategic import StrategicClassification
from driftopt.problems.synthetic import kink
from driftopt.report import formats
from driftopt.report.statistics import welch

# Comparisons


METHODS = {
    "zo-sph": {"step": [0.01, 0.03], "radius": 0.5},
    "far": {"method": "zo-sph", "step": 1e-6, "radius": 0.5},
}


@pytest.fixture(scope="module")
def comparison():
    return compare(kink(2, rng=1), METHODS, budget=200, development=2, held_out=6)


def test_scores_and_contrasts_come_from_the_held_out_runs(comparison):
    values = {m: comparison.tuned.held_out.where(method=m).columns["objective"] for m in METHODS}
    score = comparison.score("zo-sph")
    assert score.mean == pytest.approx(values["zo-sph"].mean())
    assert score.interval.low < score.mean < score.interval.high
    assert (score.configurations, comparison.score("far").configurations) == (2, 1)
    (contrast,) = comparison.contrasts
    assert contrast.p == pytest.approx(welch(values["zo-sph"], values["far"]))
    assert contrast.difference == pytest.approx(values["zo-sph"].mean() - values["far"].mean())
    assert comparison.best_known == {"Kink": pytest.approx(0.0, abs=1e-6)}
    assert score.best
    assert not comparison.score("far").tied  # it stood still


def judged(samples):
    """Scores and contrasts of given held-out objectives, instance → method → values."""

    def where(instance: str, method: str) -> SimpleNamespace:
        return SimpleNamespace(columns={"objective": samples[instance][method]})

    shown = {"configurations": 1, "parameters": {}}
    chosen = [SimpleNamespace(instance=i, method=m, **shown) for i in samples for m in samples[i]]
    tuned: Any = SimpleNamespace(selected=chosen, held_out=SimpleNamespace(where=where))
    return Judged(*judge(tuned), tuned, 100, {}, {}, 10)


def test_a_tie_is_judged_after_corrections_over_the_comparisons_with_the_best():
    """Three methods whose best two differ with p of 2 to 5 %: two tests of each make that no difference."""
    spread = np.linspace(-1.0, 1.0, 20)
    found = judged({"shop": {"best": spread, "near": spread + 0.43, "far": spread + 0.86}})
    first = next(c for c in found.contrasts if {c.one, c.other} == {"best", "near"})
    assert first.p < LEVEL < 2 * first.p
    assert {score.method: (score.best, score.tied) for score in found.scores} == {
        "best": (True, True),
        "near": (False, True),
        "far": (False, False),
    }


def test_a_few_wild_runs_do_not_make_a_bad_method_a_tie():
    """Means of 2092 and 0.288: Welch sees no difference, ranks do."""
    rng = np.random.default_rng(0)
    wild = np.array([49.0, 60.0, 70.0, 55.0, 65.0, 20_000.0, 51.0, 58.0, 62.0, 450.0])
    found = judged({"shop": {"good": 0.288 + 0.01 * rng.normal(size=10), "wild": wild}})
    (contrast,) = found.contrasts
    assert contrast.p_holm > LEVEL > contrast.p_rank_holm
    assert (contrast.winner, found.score("wild").tied) == ("good", False)
    assert found.score("wild").median == pytest.approx(61.0)


def test_over_instances_there_are_ranks_records_and_one_test():
    base = np.linspace(-1.0, 1.0, 10)
    shift = {"a": 0.0, "b": 0.01, "c": 5.0}
    found = judged({f"week {k}": {m: base + s + k for m, s in shift.items()} for k in range(5)})
    standings, p = found.standings()
    assert [(one.rank, one.wins, one.ties, one.losses) for one in standings] == [
        (1.0, 5, 5, 0),
        (2.0, 5, 5, 0),
        (3.0, 0, 0, 10),
    ]
    assert p == pytest.approx(np.exp(-5))  # Friedman's statistic is 10, chi-squared with two degrees
    assert "| a | **1.00** | 5 | 5 | 0 |" in tables.markdown(found)
    assert tables.overall_table(judged({"shop": {m: base + s for m, s in shift.items()}})) is None


def test_the_table_marks_the_best_and_who_is_tied(comparison, tmp_path):
    text = str(comparison)
    assert f"**{comparison.score('zo-sph').mean:.5g}**" in text
    twins = compare(
        kink(2, rng=1),
        {"zo-sph": METHODS["zo-sph"], "again": {"method": "zo-sph", "step": 0.03, "radius": 0.5}},
        budget=200,
        development=2,
        held_out=6,
    )
    assert all(s.tied for s in twins.scores)
    assert f" {max(s.mean for s in twins.scores):.5g} ≈ |" in str(twins)
    twins.write(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    wanted = {"table.md", "tests.csv", "results.csv", "results.parquet", "manifest.json", "report.html"}
    wanted |= {"figure.png", "figure.pdf", "table.tex", "curves.parquet"}
    assert wanted <= names
    json.loads((tmp_path / "manifest.json").read_text())


def test_what_a_paper_needs(comparison, tmp_path):
    """A table of its shape, decisions, curves on one grid from 0, fonts that publishers take."""
    nine = {"method": "zo-sph", "step": 0.01, "radius": 0.5, "directions": 9}  # an iteration is 18 queries
    several = compare([kink(2, rng=1), kink(2, rng=2)], {**METHODS, "nine": nine}, budget=100, held_out=3)
    several.write(tmp_path)
    runs, curves = (polars.read_parquet(tmp_path / f"{name}.parquet") for name in ("results", "curves"))
    held = runs.filter(polars.col("phase") == "held-out", polars.col("method") == "nine")
    for row in held.iter_rows(named=True):
        problem = kink(2, rng=int(row["instance"][-1]))
        assert float(problem.objective(np.float32(row["x"]))) == pytest.approx(row["objective"], rel=1e-5)
        own = curves.filter(*(polars.col(name) == row[name] for name in ("method", "instance", "seed")))
        assert own["queries"].to_list() == list(range(0, 101, 2))
        assert own["objective"][0] == pytest.approx(float(problem.objective(problem.x0)))
        assert own["objective"][-1] == pytest.approx(row["objective"], rel=1e-5)
        assert own["objective"].n_unique() <= 7  # five iterations, each shown until the next
    table = (tmp_path / "table.tex").read_text()
    assert f"{several.score('zo-sph', 'Kink 1').mean:.4g}" in table
    assert "Instance & zo-sph & far & nine" in table
    assert b"/Type3" not in (tmp_path / "figure.pdf").read_bytes()


def noisy(x, rng):
    return float(np.sum((x - 1) ** 2) + rng.normal(0, 0.1))


def explodes(x):
    return float("nan") if abs(x[0]) > 2 else -float(x[0])


def fails(x):
    raise OSError("the sensor is off")


def test_a_python_function_is_compared_and_repeats_itself(tmp_path):
    call = {"budget": 60, "development": 1, "held_out": 3, "x0": [0.0, 0.0], "evaluations": 20}
    grids = {"auto": {"radius": 0.3}, "zo-sph": {"radius": 0.3, "step": [0.01, 0.05]}}
    first = compare(noisy, grids, folder=tmp_path, **call)
    second = compare(noisy, grids, **call)
    assert str(first) == str(second)
    assert all(np.isfinite(score.mean) for score in first.scores)
    again = compare(noisy, grids, folder=tmp_path, **call)
    assert again.tuned.held_out.manifest["parts_found_finished"] == again.tuned.held_out.manifest["parts"]
    first.write(tmp_path)
    assert "<table>" in (tmp_path / "report.html").read_text()


def test_a_function_that_leaves_the_finite_numbers_is_a_diverged_run():
    grids = {"zo-sph": {"radius": 0.1, "step": 0.2}}
    comparison = compare(explodes, grids, budget=60, held_out=2, x0=[0.0])
    assert comparison.score("zo-sph").diverged == 2
    assert "diverged (2 of 2)" in str(comparison)
    assert "NaN or infinite and counts as +∞" in str(comparison)


@pytest.mark.parametrize("method", ["auto", "cma"])
@pytest.mark.parametrize("answer", [None, "1.0", [1.0, 2.0], {}, 1j])
def test_what_is_no_number_is_no_diverged_run(method, answer):
    pytest.importorskip("cma")
    said = rf"{method}.*seed \d+: .*(not a real number|expected 1|must be .*number)"
    with pytest.raises(ValueError, match=said):
        compare(
            lambda x: answer, {method: {"radius": 0.5}}, budget=20, development=1, held_out=2, x0=[0.0, 0.0]
        )


def test_values_that_judge_a_run_are_numbers_too():
    """The first call of a run's judge comes after its budget."""
    calls = iter([1.0] * 20)
    with pytest.raises(ValueError, match=r"auto.*seed 1000000: .*must be a number, got None"):
        compare(lambda x: next(calls, None), {"auto": {"radius": 0.5}}, budget=20, held_out=1, x0=[0.0, 0.0])


def test_mistakes_are_sentences():
    with pytest.raises(ValueError, match="the sensor is off"):
        compare(fails, {"auto": {"radius": 0.1}}, budget=10, held_out=1, x0=[0.0])
    with pytest.raises(ValueError, match="budget must be"):
        compare(noisy, METHODS, budget="x", x0=[0.0])
    with pytest.raises(ValueError, match="needs x0"):
        compare(noisy, METHODS, budget=10)
    with pytest.raises(ValueError, match="problem must be a Problem"):
        compare(3, METHODS, budget=10)
    with pytest.raises(ValueError, match="bounds are for Python functions"):
        compare(kink(2), METHODS, budget=10, bounds=[(0, 1)] * 2)
    with pytest.raises(ValueError, match=r"give each name its parameters, .*\{'auto': \{\"radius\": 0.5\}\}"):
        compare(kink(2), ["auto", "zo-sph"], budget=10)
    with pytest.raises(ValueError, match="at least one method"):
        compare(kink(2), {}, budget=10)
    with pytest.raises(ValueError, match="must not overlap"):
        compare(kink(2), METHODS, budget=10, development=[1], held_out=[1])


def test_methods_of_one_class_need_labels_of_their_own():
    two = [methods.get(name, radius=0.3, step=0.1) for name in ("zo-sph", "zo-ga")]
    shared = {"budget": 20, "development": 1, "held_out": 2}
    with pytest.raises(ValueError, match=r"methods: several of the list are called SGD .*\{\"mine\": method"):
        compare(kink(2), two, **shared)
    found = compare(kink(2), {"sphere": two[0], "gaussian": two[1]}, **shared)
    assert {score.method for score in found.scores} == {"sphere", "gaussian"}
    assert {"output", "rule"} & set(found.tuned.selected[0].parameters) == {"output"}


EVIL = ["=HYPERLINK(1)", "a|b", "$x$", "</script><b>", "tea\x1b[31m\nnew line", "100% {of} _it_ #1 ~ ^ \\"]


def test_names_are_harmless_wherever_they_are_shown(tmp_path):
    """A formula, a pipe, maths, markup, an escape: each stays text in every file and on the terminal."""
    grids = {label: {"method": "zo-sph", "step": 0.01, "radius": 0.5} for label in EVIL}
    comparison = compare(
        [kink(2, rng=1), kink(2, rng=2)], grids, budget=40, held_out=2, names=["=1+1|2", "$a_b$ </style>"]
    )
    comparison.write(tmp_path)
    for text in (str(comparison), repr(comparison), (tmp_path / "table.md").read_text()):
        assert "\x1b" not in text
    rows = [line for line in (tmp_path / "table.md").read_text().splitlines() if line.startswith("|")]
    heads = {len(HEADS), len(TEST_HEADS), 5}  # five over all instances
    assert {len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows} == heads
    page = (tmp_path / "report.html").read_text()
    assert "</script><b>" not in page
    assert "$a_b$ </style>" not in page
    for name in ("results.csv", "tests.csv"):
        with (tmp_path / name).open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
    tex = formats.latex(tables.scores_table(comparison, "=1+1|2"))
    assert r"100\% \{of\} \_it\_ \#1 \textasciitilde{} \textasciicircum{} \textbackslash{}" in tex
    assert (tmp_path / "figure.pdf").stat().st_size > 1000


def test_what_is_known_beside_values_is_another_oracle():
    """A method's table says what else it is told; the numbers beside it are the method's own."""
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(40) < 0.7, 1, -1)
    people = StrategicClassification.from_arrays(rng.normal(size=(40, 2)), labels)
    plain = {"radius": 0.5, "step": 0.03}
    told = {"method": "zo-sph", "beside": {"covariates": True}, **plain, "step": [0.03, 0.1]}
    compared = compare(people, {"told": told, "zo-sph": plain}, budget=30, development=1, held_out=2)
    assert compared.score("told").configurations == 2
    assert str(compared).index("| zo-sph |") < str(compared).index("| told ‡ | values and side information |")
    with pytest.raises(ValueError, match="beside has weather; it takes covariates"):
        compare(people, {"zo-sph": {**plain, "beside": {"weather": True}}}, budget=30)
    with pytest.raises(ValueError, match="no control"):
        compare(people, {"zo-sph": {**plain, "beside": {"relative_to_control": True}}}, budget=30, held_out=2)
