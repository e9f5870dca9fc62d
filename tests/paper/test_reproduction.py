"""What `reproduce` writes is deterministic, resumable, and says what it is."""

import json
import os

import polars
import pytest

from driftopt.paper import (
    reproduction,
    tables,
)
from driftopt.paper.scope import Scope
from driftopt.sweep import executors
from support.paper_runs import QUICK, reproduce


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory):
    return reproduce(tmp_path_factory.mktemp("made"))


TABLES = [
    "table_strategic.md",
    "table_strategic.tex",
    "table_pricing.md",
    "table_pricing.tex",
    "selected.csv",
    "results.csv",
]
PICTURES = [f"figure_{name}.{kind}" for name in ("strategic", "pricing") for kind in ("png", "pdf")]
OTHERS = ["results.parquet", "curves.parquet", "manifest.json", "report.html"]


def test_everything_is_in_one_folder(outcome):
    for name in TABLES + PICTURES + OTHERS:
        assert (outcome.folder / name).stat().st_size > 0, name


def test_cells_are_the_held_out_runs(outcome):
    frame = polars.read_parquet(outcome.folder / "results.parquet")
    assert frame.height == polars.read_csv(outcome.folder / "results.csv").height
    held = frame.filter((polars.col("phase") == "held-out") & (polars.col("experiment") == "strategic"))
    values = held.filter((polars.col("instance") == "102") & (polars.col("method") == "zo-og"))["train_loss"]
    result = outcome.summaries[0].results["102", "train_loss", "zo-og"]
    assert result.mean == pytest.approx(values.mean())
    assert result.deviation == pytest.approx(values.std())
    text = (outcome.folder / "table_strategic.md").read_text()
    assert tables.result_text(result) in text
    chosen = polars.read_csv(outcome.folder / "selected.csv")
    assert chosen.height == 4 * 3 + 4
    first = frame.filter((polars.col("phase") == "development") & (polars.col("experiment") == "strategic"))
    assert not set(first["seed"]) & set(held["seed"])


def test_quick_and_generated_data_are_named_in_every_output(outcome):
    for name in ("table_strategic.md", "table_strategic.tex", "table_pricing.md", "table_pricing.tex"):
        assert "QUICK" in (outcome.folder / name).read_text()
    assert "stand-in" in (outcome.folder / "table_pricing.md").read_text()
    report = (outcome.folder / "report.html").read_text()
    assert "QUICK run" in report
    assert "prices (stand-in)" in report
    assert json.loads((outcome.folder / "manifest.json").read_text())["protocol"] == "quick"


def test_the_same_command_gives_the_same_bytes(outcome, tmp_path):
    reproduce(tmp_path)
    for name in TABLES + PICTURES + ["results.parquet", "curves.parquet"]:
        assert (tmp_path / name).read_bytes() == (outcome.folder / name).read_bytes(), name


def test_interrupted_and_started_again_it_gives_the_same_bytes(outcome, tmp_path, monkeypatch):
    done = iter(range(2))

    def limited(task, asked):
        if next(done, None) is None:
            raise KeyboardInterrupt
        return task.run(), 1.0

    with monkeypatch.context() as patch:
        patch.setattr(executors, "run_task", limited)
        with pytest.raises(KeyboardInterrupt):
            reproduce(tmp_path)
    kept = len(list((tmp_path / "parts").glob("*.parquet")))
    assert 0 < kept <= 2
    (tmp_path / "manifest.json").write_text('{"protocol": "qu')  # half written by something else
    again = reproduce(tmp_path)
    reused = again.manifest["experiments"]["strategic"]["both"]["parts_found_finished"]
    assert reused == kept
    for name in TABLES:
        assert (tmp_path / name).read_bytes() == (outcome.folder / name).read_bytes(), name


def test_a_full_disk_while_writing_tables_keeps_the_runs(outcome, tmp_path, monkeypatch):
    real = os.replace

    def filling(beside, path):
        if "table" in path.name:
            raise OSError(28, "No space left on device")
        real(beside, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", filling)
        with pytest.raises(ValueError, match=r"No space left on device.*same command again"):
            reproduce(tmp_path)
    again = reproduce(tmp_path)
    assert again.manifest["experiments"]["pricing"]["both"]["parts_found_finished"] == 1


def test_a_folder_holds_one_protocol(outcome):
    with pytest.raises(ValueError, match="holds the results of a quick run; choose another folder"):
        reproduction.reproduce(outcome.folder, data="stand-in", progress=False)
    with pytest.raises(ValueError, match=r"choose another folder for a partial \(quick; splits 101\) one"):
        reproduction.reproduce(outcome.folder, scope=QUICK, only="strategic", splits=["101"], data="stand-in")
    with pytest.raises(ValueError, match="only"):
        reproduce(outcome.folder, only="weather")


@pytest.mark.parametrize(
    ("only", "given", "left_out"),
    [("pricing", {"splits": ["101"]}, "strategic"), ("strategic", {"weeks": ["2022-08"]}, "pricing")],
)
def test_a_part_of_an_experiment_that_is_left_out_is_refused(tmp_path, only, given, left_out):
    with pytest.raises(ValueError, match=f"only {only} leaves out the {left_out} experiment, which the"):
        reproduce(tmp_path / "out", only=only, **given)
    assert not (tmp_path / "out").exists()


def test_a_budget_too_small_for_a_method_is_refused_before_anything_runs(tmp_path, monkeypatch):
    small = Scope(quick=True, budget=30)  # pays for zo-co in 12 dimensions, not in 30

    def never(*_):
        pytest.fail("it ran before it looked at the budget")

    monkeypatch.setattr(reproduction, "run", never)
    monkeypatch.setattr(reproduction, "best_known", never)
    with pytest.raises(ValueError, match="a budget of 30 pays for no step of any configuration of zo-co"):
        reproduction.reproduce(tmp_path / "out", scope=small, data="stand-in", progress=False)


# What the numbers say
