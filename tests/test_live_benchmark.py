"""The benchmark of the live default: its instances are what they say, and tiny runs reach its tables."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.live import runs, shop_runs, tables
from benchmarks.live.instances import Instance, instances
from benchmarks.live.runs import Job
from benchmarks.live.shops import Shop, shops

SETS = ("development", "validation")
TRUST = 5.5  # standard errors: a false alarm in 1e-7


@pytest.mark.parametrize("which", SETS)
def test_values_have_the_mean_that_the_objective_says(which: str):
    rng = np.random.default_rng(5)
    for name, instance in instances(which).items():
        x = instance.deployed((instance.start + instance.optimum()) / 2)
        values = np.array([instance.sample(x, rng) for _ in range(200)])
        error = values.std() / len(values) ** 0.5 + 1e-12
        assert abs(values.mean() - instance.f(x)) < TRUST * error, name


@pytest.mark.parametrize("which", SETS)
def test_no_decision_is_better_than_the_optimum(which: str):
    rng = np.random.default_rng(6)
    for name, instance in instances(which).items():
        for t in (0, 300):
            best, size = instance.optimum(t), instance.radius / instance.dim**0.5
            assert instance.share(instance.start, t) == pytest.approx(1)
            lengths = np.logspace(-3, 0.5, 40)
            tried = [best + length * size * rng.normal(size=instance.dim) for length in lengths]
            assert min(instance.share(instance.deployed(x), t) for x in tried) > -1e-3, name


@pytest.mark.parametrize("which", SETS)
def test_a_shop_earns_what_its_profit_says_and_its_start_is_legal(which: str):
    rng = np.random.default_rng(7)
    for shop in shops(which):
        t = shop.promotion[0]
        values = np.array([shop.day(shop.start, t, rng)[0] for _ in range(200)])
        expected = shop.profit(shop.start, t, shop.level(t))
        assert abs(values.mean() - expected) < TRUST * values.std() / len(values) ** 0.5
        assert len(shop.space.legal(shop.start[None], shop.start, rng)) == 1
        assert shop.gain(shop.start) == 0
        assert shop.most > shop.profit(shop.start, 120)


def tiny(table: str, instance: str, label: str, budgets: tuple[int, ...], seeds: int = 2) -> list[Job]:
    return [Job("development", table, instance, label, seed, budgets) for seed in range(seeds)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runs, "FOLDER", tmp_path)
    return tmp_path


def test_tiny_runs_are_kept_and_reach_the_tables(folder: Path):
    jobs = [
        *tiny("main", "kink, d = 2", "model", (4, 8)),
        *tiny("main", "kink, d = 2", "CMA-ES (cma)", (4, 8)),
        *tiny("radius", "kink, d = 2", "none", (120,), 0),
        *tiny("loss", "prices, d = 2", "max_loss=0.1", (120,), 0),
    ]
    assert not any(job.kept for job in jobs)
    for job in jobs:
        runs.keep(job, runs.measure(job))
    assert all(job.kept for job in jobs)
    assert not jobs[0]._replace(budgets=(4, 16)).kept
    text = tables.report(jobs, runs.read)
    assert "| kink, d = 2 | 8 |" in text
    assert "of 2 (" in text


def test_the_plan_has_every_table_and_skips_what_a_rival_cannot_pay():
    jobs = runs.jobs("development", tables.TABLES, (30, 1000), seeds=1)
    assert {job.table for job in jobs} == set(tables.TABLES)
    slow = [job for job in jobs if job.label.startswith("Gaussian")]
    assert slow
    assert all(job.budgets == (30,) for job in slow)
    assert all(
        isinstance(instances("development")[job.instance], Instance) for job in jobs if job.table != "shop"
    )


@pytest.mark.parametrize("label", ["product left out, value", "CMA-ES (cma)"])
def test_a_week_in_a_shop(label: str):
    shop: Shop = shops("development")[0]
    if label in shop_runs.VIEWS:
        found = shop_runs.with_model(shop, 0, shop_runs.VIEWS[label], days=7)
    else:
        found = shop_runs.with_rival(shop, 0, label, days=20)
    assert found["share"] <= 1
    assert -1 < found["worst"] <= 0


def test_staying_at_the_start_earns_and_loses_nothing():
    shop = shops("development")[0]
    assert shop_runs.judged(shop, [shop.start] * 9, shop.start) == {
        "share": 0.0,
        "profit": 0.0,
        "worst": 0.0,
        "bad": 0,
    }


def test_only_what_is_significantly_above_the_lowest_is_not_good():
    rng = np.random.default_rng(3)
    cells = {name: rng.normal(mean, 1, 20) for name, mean in {"a": 0.0, "b": 0.1, "c": 3.0}.items()}
    assert tables.good(cells) == {"a", "b"}
