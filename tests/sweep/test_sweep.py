"""Sweeps: the right runs in the right rows, selection as stated, resumed equals uninterrupted."""

import json
import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt import methods, sweep
from driftopt.drivers.simulation import simulate
from driftopt.problems.synthetic import kink
from driftopt.rng.seeds import lane_seed
from driftopt.sweep import executors, grid, results, simulated, tuning
from driftopt.sweep.tasks import Task

PROBLEMS = [kink(3, rng=1), kink(3, rng=2)]
GRIDS = [
    grid("zo-sph", step=[0.01, 0.1], radius=[0.5, 1.0], directions=[1, 3]),
    grid("zo-o2nc-1pt", radius=[0.5], batch=[1, 4, 200], block=[5], step=[1e-3, 1e-2]),
    grid("zo-co", step=[0.05], radius=[0.3]),
]
SHARED = {"budget": 120, "names": ["a", "b"], "progress": False}


def same(one: sweep.Runs, other: sweep.Runs) -> None:
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name])
    np.testing.assert_array_equal(one.x, other.x)


@pytest.fixture(scope="module")
def runs() -> sweep.Runs:
    return sweep.run(GRIDS, PROBLEMS, seeds=[3, 4], evaluate_every=30, **SHARED)


def test_every_row_is_the_single_run_it_names(runs: sweep.Runs):
    assert len(runs) == (8 + 6 + 1) * 2 * 2
    table = list(zip(*(runs.columns[c] for c in ("method", "instance", "seed", "parameters")), strict=True))
    for row in (0, 13, 29, 40, 47, 56, 59):
        name, instance, seed, parameters = table[row]
        k = "ab".index(instance)
        method = methods.get(str(name), **json.loads(parameters))
        if int(method.batch) * (1 + method.warmup) > 120:
            assert runs.columns["objective"][row] == np.inf
            continue
        alone = simulate(method, PROBLEMS[k], budget=120, rng=lane_seed(int(seed), k), evaluate_every=30)
        assert runs.columns["objective"][row] == pytest.approx(float(alone.fun), rel=1e-5)
        assert runs.columns["queries"][row] == alone.queries
        np.testing.assert_allclose(runs.x[row], alone.x, rtol=1e-5, atol=1e-6)
        at, curve = runs.curves[row]
        np.testing.assert_array_equal(at, alone.evaluated_at)
        np.testing.assert_allclose(curve, alone.objective, rtol=1e-5)


def test_what_the_budget_cannot_pay_for_is_infinitely_bad_and_named(runs: sweep.Runs):
    dear = runs.where(method="zo-o2nc-1pt")
    expensive = np.array([json.loads(p)["batch"] == 200 for p in dear.columns["parameters"]])
    assert np.isinf(dear.columns["objective"][expensive]).all()
    assert (dear.columns["queries"][expensive] == 0).all()
    assert np.isfinite(dear.columns["objective"][~expensive]).all()
    assert [c["batch"] for c in runs.manifest["infeasible"]["zo-o2nc-1pt"]] == [200, 200]
    assert runs.manifest["queries"] == runs.columns["queries"].sum()


def test_a_chosen_configuration_alone_repeats_its_row_of_the_full_sweep(runs: sweep.Runs):
    grids = GRIDS[1:2]
    chosen = {(g.label, n): k for g in grids for k, n in enumerate("ab")}
    some = sweep.run(grids, PROBLEMS, seeds=[3, 4], chosen=chosen, **SHARED)
    for (label, name), index in chosen.items():
        full = runs.where(method=label, instance=name, configuration=index)
        part = some.where(method=label, instance=name)
        np.testing.assert_allclose(part.columns["objective"], full.columns["objective"], rtol=1e-6)


# Interruption


class Killed(Exception):
    pass


def stop_after(count: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    done = iter(range(count))

    def limited(task: Task, asked: object):
        if next(done, None) is None:
            raise error
        return task.run(), 1.0

    monkeypatch.setattr(executors, "run_task", limited)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Killed()])
def test_interrupted_and_started_again_it_goes_on(runs, tmp_path, monkeypatch, capsys, error):
    call = {"seeds": [3, 4], "evaluate_every": 30, "folder": tmp_path, **SHARED}
    with monkeypatch.context() as patch:
        stop_after(3, error, patch)
        with pytest.raises(type(error)):
            sweep.run(GRIDS, PROBLEMS, **call)
    if isinstance(error, KeyboardInterrupt):
        assert "3 of 5 parts are finished and are safe" in capsys.readouterr().err
    again = sweep.run(GRIDS, PROBLEMS, **call)
    assert again.manifest["parts_found_finished"] == 3
    same(runs, again)


def test_a_damaged_part_is_reported_and_runs_again(runs, tmp_path, capsys):
    call = {"seeds": [3, 4], "evaluate_every": 30, "folder": tmp_path, **SHARED}
    sweep.run(GRIDS, PROBLEMS, **call)
    files = sorted((tmp_path / "parts").glob("*.parquet"))
    files[0].write_bytes(files[0].read_bytes()[:100])  # half written
    middle = bytearray(files[1].read_bytes())
    middle[len(middle) // 2] ^= 0xFF  # one flipped byte
    files[1].write_bytes(bytes(middle))
    files[2].write_bytes(b"")
    files[3].write_bytes(files[4].read_bytes())  # another part's content
    again = sweep.run(GRIDS, PROBLEMS, **call)
    assert again.manifest["parts_found_finished"] == 1
    assert capsys.readouterr().err.count("is damaged") == 4
    same(runs, again)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda a: {k: v for k, v in a.items() if k != "queries"}, "it has no queries"),
        (lambda a: a | {"objective": a["objective"].astype(int)}, "its objective is int"),
        (lambda a: a | {"x": a["x"].astype(int)}, "its x is int"),
        (lambda a: a | {"queries": a["queries"] + 1}, "queries where"),
        (lambda a: a | {"queries": -a["queries"]}, "queries where"),
    ],
)
def test_a_whole_file_that_cannot_be_this_part_runs_again(tmp_path, capsys, monkeypatch, change, says):
    """A file with the right name, labels and checksum, and the wrong content."""
    few = [grid("zo-co", step=[0.05], radius=[0.3])]
    call = {**SHARED, "seeds": [3], "folder": tmp_path}
    expected = sweep.run(few, PROBLEMS, **call)
    with monkeypatch.context() as patch:
        put = results.Store.put
        patch.setattr(results.Store, "put", lambda store, part, arrays: put(store, part, change(arrays)))
        sweep.run(few, PROBLEMS, fresh=True, **call)
    again = sweep.run(few, PROBLEMS, **call)
    assert again.manifest["parts_found_finished"] == 0
    assert says in capsys.readouterr().err
    same(expected, again)


def test_other_numbers_seeds_data_or_budget_are_other_work(tmp_path):
    few = [grid("zo-co", step=[0.05], radius=[0.3])]
    call = {**SHARED, "seeds": [3], "folder": tmp_path}
    sweep.run(few, PROBLEMS, **call)
    assert sweep.run(few, PROBLEMS, **call).manifest["parts_found_finished"] == 1
    others = [
        ([grid("zo-co", step=[0.06], radius=[0.3])], PROBLEMS, {}),
        (few, [kink(3, rng=1), kink(3, rng=3)], {}),
        (few, PROBLEMS, {"seeds": [4]}),
        (few, PROBLEMS, {"budget": 126}),
        (few, PROBLEMS, {"x0": [1, 1, 1]}),
        (few, PROBLEMS, {"evaluate_every": 60}),
    ]
    for grids, problems, change in others:
        runs = sweep.run(grids, problems, **(call | change))
        assert runs.manifest["parts_found_finished"] == 0, change


def test_a_full_disk_loses_nothing_finished(runs, tmp_path, monkeypatch):
    call = {"seeds": [3, 4], "evaluate_every": 30, "folder": tmp_path, **SHARED}
    real, written = os.replace, []

    def filling(beside, path):
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(path)
        real(beside, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", filling)
        with pytest.raises(sweep.ResultsError, match=r"No space left on device.*finished before is safe"):
            sweep.run(GRIDS, PROBLEMS, **call)
    assert len(list((tmp_path / "parts").iterdir())) == 2
    again = sweep.run(GRIDS, PROBLEMS, **call)
    assert again.manifest["parts_found_finished"] == 2
    same(runs, again)


# Selection


def fake(grids, values) -> sweep.Runs:
    """Development runs with given objectives, (configurations, seeds), on one instance."""
    label, (count, seeds) = grids[0].label, values.shape
    columns = {
        "method": np.array([label] * values.size),
        "instance": np.array(["a"] * values.size),
        "configuration": np.repeat(np.arange(count), seeds),
        "seed": np.tile(np.arange(seeds), count),
        "objective": values.ravel(),
    }
    return sweep.Runs(columns, np.zeros((values.size, 3)), [None] * values.size)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, np.inf, np.nan, -np.inf]), min_size=2, max_size=2),
        min_size=2,
        max_size=6,
    )
)
def test_selection_takes_the_first_smallest_mean_and_non_finite_is_worst(rows):
    grids = [grid("zo-co", step=[0.01 * (i + 1) for i in range(len(rows))], radius=1.0)]
    source = simulated.Simulated(PROBLEMS[:1], ["a"])
    chosen = sweep.select(grids, fake(grids, np.array(rows)), source, 120)[0]
    means = [np.mean(r) if np.isfinite(r).all() else np.inf for r in rows]
    assert chosen.configuration == means.index(min(means))


def test_both_lists_of_seeds_at_once_give_the_same_outcome():
    call = {"development": [1, 2], "held_out": [11, 12], "evaluate_every": 60, **SHARED}
    apart, together = (sweep.tune(GRIDS[1:2], PROBLEMS, together=t, **call) for t in (False, True))
    assert [s.configuration for s in apart.selected] == [s.configuration for s in together.selected]
    for one, other in ((apart.development, together.development), (apart.held_out, together.held_out)):
        assert one.columns["seed"].tolist() == other.columns["seed"].tolist()
        np.testing.assert_allclose(one.columns["objective"], other.columns["objective"], rtol=1e-6)


def test_tuned_runs_are_the_selected_configurations_on_fresh_seeds():
    tuned = sweep.tune(
        GRIDS, PROBLEMS, development=[1, 2], held_out=[11, 12, 13], evaluate_every=60, **SHARED
    )
    assert set(tuned.development.columns["seed"]) == {1, 2}
    assert set(tuned.held_out.columns["seed"]) == {11, 12, 13}
    assert len(tuned.selected) == 3 * 2
    assert "zo-co" not in tuned.development.columns["method"]  # one configuration: nothing to tune
    for choice in tuned.selected:
        rows = tuned.held_out.where(method=choice.method, instance=choice.instance)
        assert len(rows) == 3
        assert set(rows.columns["configuration"]) == {choice.configuration}
        if choice.configurations > 1:
            tried = tuned.development.where(method=choice.method, instance=choice.instance)
            means = tried.columns["objective"].reshape(choice.configurations, 2).mean(axis=1)
            assert choice.configuration == np.argmin(means)
            assert choice.development_mean == means.min()


def test_the_tidy_table_and_its_manifest(runs: sweep.Runs):
    frame = runs.frame()
    assert frame.columns[:4] == ["method", "instance", "configuration", "seed"]
    assert frame.height == len(runs)
    manifest = json.loads(json.dumps(runs.manifest))
    assert {"versions", "seeds", "grids", "data_checksums", "duration_s", "queries"} <= set(manifest)


def test_bad_input_is_refused_at_the_door():
    with pytest.raises(ValueError, match="problems"):
        sweep.run(GRIDS, PROBLEMS[0], budget=10, seeds=[1])
    with pytest.raises(ValueError, match="its own label"):
        sweep.run([GRIDS[0], GRIDS[0]], PROBLEMS, seeds=[1], **SHARED)
    with pytest.raises(ValueError, match="different whole numbers"):
        sweep.run(GRIDS, PROBLEMS, seeds=[1, 1], **SHARED)
    with pytest.raises(ValueError, match="as many different names"):
        sweep.run(GRIDS, PROBLEMS, seeds=[1], budget=120, names=["a"])
    with pytest.raises(ValueError, match="pays for no step of any configuration of zo-co"):
        sweep.tune(GRIDS[2:], PROBLEMS, budget=2, development=[1], held_out=[2], progress=False)
    with (
        mock.patch.object(tuning, "run_with", side_effect=AssertionError),
        pytest.raises(ValueError, match="pays"),
    ):
        sweep.tune(GRIDS, PROBLEMS, budget=2, development=[1], held_out=[2], progress=False)
    with pytest.raises(ValueError, match="list of Problem instances"):
        sweep.run(GRIDS, [], seeds=[1], budget=120)
