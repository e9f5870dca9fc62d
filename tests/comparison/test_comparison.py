"""Comparisons: statistics that keep their level, any problem or function, from Python or from TOML."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from driftopt import methods
from driftopt.comparison import config_file as config
from driftopt.comparison.comparison import compare
from driftopt.comparison.statistics import bootstrap_difference, bootstrap_mean, holm, welch
from driftopt.problems.synthetic import kink

EXAMPLES = Path(__file__).parents[2] / "examples"
Z = 5.0  # two-sided false alarm below 1e-6

# Statistics


def rejections(shift: float, repeats: int = 4000) -> int:
    rng = np.random.default_rng(1)
    one, other = rng.normal(0, 1, (repeats, 12)), rng.normal(shift, 3, (repeats, 20))
    return sum(welch(a, b) < 0.05 for a, b in zip(one, other, strict=True))


def z_of(count: int, chance: float, repeats: int) -> float:
    return (count - repeats * chance) / np.sqrt(repeats * chance * (1 - chance))


def test_welch_keeps_its_level_with_unequal_variances():
    assert abs(z_of(rejections(0.0), 0.05, 4000)) < Z


def test_a_true_difference_is_seen():  # the twin: the same count must fail
    assert abs(z_of(rejections(1.0), 0.05, 4000)) > Z


def coverage(truth: float, repeats: int = 1500) -> int:
    rng = np.random.default_rng(2)
    intervals = [bootstrap_mean(rng.normal(0, 1, 10), seed=k) for k in range(repeats)]
    return sum(low <= truth <= high for low, high in intervals)


def test_the_bootstrap_interval_covers_the_mean_of_small_normal_samples(monkeypatch):
    monkeypatch.setattr("driftopt.comparison.statistics.RESAMPLES", 600)
    assert abs(z_of(coverage(0.0), 0.95, 1500)) < Z
    assert abs(z_of(coverage(0.5), 0.95, 1500)) > Z  # the twin


def test_the_plain_percentiles_would_be_too_short():
    values = np.random.default_rng(3).normal(size=8)
    rng = np.random.default_rng(0)
    plain = np.quantile(values[rng.integers(8, size=(10_000, 8))].mean(axis=1), [0.025, 0.975])
    ours = bootstrap_mean(values)
    assert ours.low < plain[0]
    assert ours.high > plain[1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_keeps_the_order_and_equals_bonferroni_for_the_smallest(p_values):
    corrected = holm(p_values)
    assert all(c >= p for c, p in zip(corrected, p_values, strict=True))
    assert max(corrected) <= 1
    assert min(corrected) == pytest.approx(min(1, len(p_values) * min(p_values)))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(corrected)[order]) >= 0).all()


def test_statistics_of_odd_samples():
    same, other = np.ones(4), np.full(4, 2.0)
    assert (welch(same, same), welch(same, other)) == (1.0, 0.0)
    assert np.isnan(welch(same, np.array([1.0, np.inf, 2.0])))
    assert np.isnan(welch(same, np.array([1.0])))
    assert np.isnan(bootstrap_difference(same, np.array([np.inf, 1.0])).low)
    assert np.isnan(holm([0.5, float("nan")])[1])
    a, b = np.random.default_rng(0).normal(size=(2, 9))
    assert welch(a, b) == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)
    low, high = bootstrap_difference(a, b)
    assert low < a.mean() - b.mean() < high


# Comparisons


METHODS = {
    "zo-sph": {"step": [0.01, 0.03], "radius": 0.5},
    "far": {"method": "zo-sph", "step": 1e-6, "radius": 0.5},
}


@pytest.fixture(scope="module")
def made():
    return compare(kink(2, rng=1), METHODS, budget=200, development=2, held_out=6)


def test_scores_and_contrasts_come_from_the_held_out_runs(made):
    values = {m: made.tuned.held_out.where(method=m).columns["objective"] for m in METHODS}
    score = made.score("zo-sph")
    assert score.mean == pytest.approx(values["zo-sph"].mean())
    assert score.interval.low < score.mean < score.interval.high
    assert (score.configurations, made.score("far").configurations) == (2, 1)
    (contrast,) = made.contrasts
    assert contrast.p == pytest.approx(welch(values["zo-sph"], values["far"]))
    assert contrast.difference == pytest.approx(values["zo-sph"].mean() - values["far"].mean())
    assert made.best_known == {"Kink": pytest.approx(0.0, abs=1e-6)}
    assert score.best
    assert not made.score("far").tied  # it stood still


def test_the_table_marks_the_best_and_who_cannot_be_told_apart(made, tmp_path):
    text = str(made)
    assert f"**{made.score('zo-sph').mean:.5g}**" in text
    twins = compare(
        kink(2, rng=1),
        {"zo-sph": METHODS["zo-sph"], "again": {"method": "zo-sph", "step": 0.03, "radius": 0.5}},
        budget=200,
        development=2,
        held_out=6,
    )
    assert all(s.tied for s in twins.scores)
    twins.write(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    wanted = {"table.md", "tests.csv", "results.csv", "results.parquet", "manifest.json", "report.html"}
    assert wanted <= names
    json.loads((tmp_path / "manifest.json").read_text())


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
    made = compare(explodes, grids, budget=60, held_out=2, x0=[0.0])
    assert made.score("zo-sph").diverged == 2
    assert "diverged (2 of 2)" in str(made)


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
    with pytest.raises(ValueError, match="at least one method"):
        compare(kink(2), {}, budget=10)
    with pytest.raises(ValueError, match="must not overlap"):
        compare(kink(2), METHODS, budget=10, development=[1], held_out=[1])
    own = {"mine": {"method": lambda radius: methods.get("auto", radius=radius), "radius": 0.1}}
    with pytest.raises(ValueError, match="a method is a name of the registry"):
        compare(noisy, own, budget=10, held_out=1, x0=[0.0])


# TOML


def write(folder: Path, text: str) -> Path:
    path = folder / "comparison.toml"
    path.write_text(text)
    return path


def test_a_toml_file_names_problems_and_methods_of_its_folder(tmp_path):
    (tmp_path / "shop_for_a_test.py").write_text(
        "from driftopt import methods\n"
        "from driftopt.problems.synthetic import kink\n"
        "problem = kink(2)\n"
        "def several(count):\n    return [kink(2, rng=k) for k in range(count)]\n"
        "def build(radius):\n    return methods.get('zo-sph', radius=radius, step=0.01)\n"
        "def noisy(x):\n    return float(abs(x).sum())\n"
    )
    head = 'budget = 40\n[methods.mine]\nmethod = "shop_for_a_test:build"\nradius = [0.1, 0.2]\n'
    given = config.read(write(tmp_path, 'problem = "shop_for_a_test:problem"\n' + head))
    assert given["problem"].dim == 2
    assert given["methods"]["mine"]["method"](radius=0.1).radius == 0.1
    options = "problem_options = { count = 3 }\n"
    given = config.read(write(tmp_path, 'problem = "shop_for_a_test:several"\n' + options + head))
    assert len(given["problem"]) == 3
    given = config.read(write(tmp_path, 'problem = "shop_for_a_test:noisy"\nx0 = [1.0]\n' + head))
    assert given["problem"](np.ones(2)) == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget = ", "no valid TOML"),
        ("budget = 3", "problem and methods must be given"),
        ('budget = 3\nproblem = "kink"\nspeed = 1\nmethods = {}', "unknown speed"),
        ('budget = 3\nproblem = "kinky"\nmethods = {}', "unknown problem 'kinky'; it is one of strategic"),
        ('budget = 3\nproblem = "no_such_module:x"\nmethods = {}', "must be installed or lie in"),
        ('budget = 3\nproblem = "json:nothing"\nmethods = {}', "has no nothing"),
        ('budget = 3\nproblem = "kink"\nproblem_options = {size=3}\nmethods = {}', "do not fit kink"),
        ('budget = 3\nproblem = "kink"\nmethods = 3', "methods must be a table"),
    ],
)
def test_a_wrong_file_is_a_sentence(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        config.read(write(tmp_path, text))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        config.read(tmp_path / "none.toml")


def test_the_named_problems_all_build():
    for name in ("kink", "two-wells", "location-shift", "pricing"):
        assert config.problem(name, {}, Path(), oracle=False).dim > 1


def test_the_example_runs_from_the_command_line(tmp_path):
    command = [sys.executable, "-m", "driftopt", "compare", str(EXAMPLES / "compare_function.toml")]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "95% interval" in done.stdout
    assert (tmp_path / "report.html").stat().st_size > 10_000
