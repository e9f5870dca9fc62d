"""Results in Parquet files: the rows of a sweep in memory, read lazily, and continued."""

import json

import numpy as np
import pytest

from driftopt import sweep
from driftopt.problems.synthetic import kink
from driftopt.sweep import grid
from driftopt.sweep.simulated import Simulated

polars = pytest.importorskip("polars", reason="needs driftopt[report]")

GRIDS = [
    grid("zo-sph", step=[0.01, 0.02, 0.04], radius=[0.5, 1.0]),
    grid("zo-og", step=0.1, radius=[1.0, 2.0], batch=[1, 90]),
]
PROBLEMS = [kink(2, rng=1), kink(2, rng=2)]
CALL = {"budget": 80, "seeds": [3, 1, 2], "names": ["a", "b"], "evaluate_every": 40, "progress": False}
ORDER = ["method", "instance", "configuration", "seed"]


@pytest.fixture(params=["disk", "store"])
def folder(request, tmp_path):
    return tmp_path if request.param == "disk" else f"memory://{tmp_path.name}"


def test_files_have_the_rows_of_the_table_in_memory(folder, small_tiles):
    here = sweep.run(GRIDS, PROBLEMS, **CALL)
    there = sweep.stream(GRIDS, PROBLEMS, folder=folder, parts=5, **CALL)
    started = here.columns["queries"] > 0
    rows, kept = there.sort(ORDER).collect(), here.rows(started)
    assert len(rows) == started.sum() < len(here)
    order = np.lexsort([kept.columns[name] for name in reversed(ORDER)])
    for name, column in kept.columns.items():
        np.testing.assert_array_equal(rows[name].to_numpy(), column[order])
    np.testing.assert_array_equal(np.stack(rows["x"].to_list()), kept.x[order])
    for row, place in enumerate(order):
        np.testing.assert_array_equal(rows["curve_at"][row].to_numpy(), kept.curves[place][0])
        np.testing.assert_array_equal(rows["curve"][row].to_numpy(), kept.curves[place][1])
    few = there.filter(polars.col("instance") == "b").select("objective").collect()
    assert few.columns == ["objective"]
    source = Simulated(PROBLEMS, "ab")
    assert sweep.select(GRIDS, there, source, 80) == sweep.select(GRIDS, here, source, 80)


def test_it_goes_on_from_the_files_that_are_there(tmp_path, small_tiles, capsys):
    first = sweep.stream(GRIDS, PROBLEMS, folder=tmp_path, parts=5, **CALL).sort(ORDER).collect()
    files = sorted((tmp_path / "parts").iterdir())
    assert len(files) == json.loads((tmp_path / "sweep.json").read_text())["parts"]
    files[0].unlink()
    files[1].write_bytes(b"half a file")
    again = sweep.stream(GRIDS, PROBLEMS, folder=tmp_path, parts=9, **CALL)  # cut otherwise
    assert json.loads((tmp_path / "sweep.json").read_text())["parts_found_finished"] == len(files) - 2
    assert "is damaged" in capsys.readouterr().err
    assert again.sort(ORDER).collect().equals(first)


def test_nothing_of_a_finished_part_stays_in_memory(tmp_path, monkeypatch):
    from driftopt.sweep import running

    held, carry_out = [], running.carry_out
    monkeypatch.setattr(running, "carry_out", lambda *a, **b: held.append(carry_out(*a, **b)) or held[0])
    sweep.stream(GRIDS, PROBLEMS, folder=tmp_path, **CALL)
    assert not held[0][1]


def test_a_folder_is_needed():
    with pytest.raises(ValueError, match="folder"):
        sweep.stream(GRIDS, PROBLEMS, folder=None, **CALL)
