"""What runs leave behind: frames with the right rows, short lines, pictures, and grids as well as arrays."""

import copy
import pickle

import numpy as np
import pytest

import driftopt
from driftopt import methods, sweep
from driftopt.problems.synthetic import kink

STACKED = driftopt.stack([kink(2, rng=0), kink(2, rng=1)])
RUN = {"budget": 60, "seeds": [3, 4, 5], "evaluate_every": 20}


@pytest.fixture(scope="module")
def product() -> methods.Grid:
    return methods.grid("zo-sph", radius=[0.3, 0.6], step=0.01, directions=[1, 3])


@pytest.fixture(scope="module")
def trace(product) -> driftopt.Trace:
    return driftopt.simulate_many(product, STACKED, **RUN)


def test_a_grid_runs_every_combination_in_order(trace, product):
    """Configurations of another shape run in a program of their own, and stand in their own place."""
    assert trace.fun.shape == (2, 3, 4)
    for c, numbers in enumerate(product.configurations):
        alone = driftopt.simulate_many(methods.get("zo-sph", **numbers), STACKED, **RUN)
        np.testing.assert_allclose(trace.x[:, :, c], alone.x[:, :, 0], rtol=2e-4, atol=2e-5)
        np.testing.assert_array_equal(trace.queries[:, :, c], alone.queries[:, :, 0])
        times = alone.objective.shape[-1]
        np.testing.assert_array_equal(trace.evaluated_at[:, :, c, :times], alone.evaluated_at[:, :, 0])
        np.testing.assert_allclose(trace.objective[:, :, c, :times], alone.objective[:, :, 0], rtol=1e-4)
        assert (trace.objective[:, :, c, times:] == trace.objective[:, :, c, -1:]).all()


def test_the_frame_has_one_row_a_run(trace):
    frame = trace.frame()
    assert frame.height == 24
    row = frame.row(17, named=True)  # instance 1, seed 1, configuration 1
    assert (row["instance"], row["seed"], row["configuration"]) == (1, 1, 1)
    assert (row["radius"], row["directions"], row["step"]) == (0.3, 3, 0.01)
    assert row["objective"] == trace.fun[1, 1, 1]
    assert (row["x0"], row["x1"]) == tuple(trace.x[1, 1, 1])
    curves = trace.curve_frame()
    assert curves.height == trace.objective.size
    assert curves.columns[-2:] == ["queries", "objective"]
    last = curves.filter(instance=1, seed=1, configuration=1).row(-1, named=True)
    assert (last["objective"], last["queries"]) == (trace.fun[1, 1, 1], trace.queries[1, 1, 1])


def test_one_run_alone(trace):
    one = trace.run(1, 2, 3)
    assert one.fun == trace.fun[1, 2, 3]
    assert one.frame().columns == ["queries", "objective", "x0", "x1"]
    assert one.curve_frame().height == one.objective.size


def test_the_picture_shows_every_instance_and_configuration(trace, tmp_path):
    figure = trace.plot(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert [len(axes.lines) for axes in figure.axes] == [4, 4]
    mean = trace.objective[1, :, 2].mean(axis=0)
    np.testing.assert_allclose(figure.axes[1].lines[2].get_ydata(), mean)
    assert len(trace.run().plot().axes[0].lines) == 1


def test_runs_that_diverged_leave_the_picture_and_are_counted():
    """Of three seeds and two configurations: one run of the first is lost, and all of the second."""
    values = np.arange(12.0).reshape(1, 3, 2, 2)
    values[0, 1, 0, 1] = np.inf
    values[0, :, 1, 0] = np.nan
    last = values[..., -1]
    (axes,) = driftopt.Trace(np.zeros((1, 3, 2, 1)), last, last, np.zeros_like(values), values).plot().axes
    first, second = axes.lines
    np.testing.assert_array_equal(first.get_ydata(), values[0, [0, 2], 0].mean(axis=0))
    assert np.isnan(second.get_ydata()).all()
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["0, 1 of 3 diverged", "1, 3 of 3 diverged"]
    assert axes.get_title() == "4 of 6 diverged"


def test_the_result_of_minimize_is_scipys_for_whoever_has_loaded_it():
    from scipy.optimize import OptimizeResult

    result = driftopt.minimize(lambda x: float(x @ x), [1.0], budget=8, radius=0.1, rng=0, method="walk")
    plain = OptimizeResult(result)
    for other in (result, pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert isinstance(other, OptimizeResult)
        assert isinstance(other, driftopt.MinimizeResult)
        assert (other.nfev, other["nfev"], dir(other)) == (8, 8, dir(plain))
        other.nfev = 9
        assert other["nfev"] == 9
        del other.nfev
        assert "nfev" not in other
        with pytest.raises(AttributeError, match="nfev"):
            _ = other.nfev
    assert plain.nfev == 8


@pytest.fixture(scope="module")
def runs() -> sweep.Runs:
    grids = [methods.grid("zo-sph", radius=[0.3, 0.6], step=0.01), methods.grid("walk", radius=0.5)]
    call = {"budget": 60, "seeds": [3, 4], "progress": False}
    return sweep.run(grids, [kink(2, rng=0)], evaluate_every=20, **call)


def test_a_sweep_has_one_column_a_parameter(runs):
    frame = runs.frame()
    start = ["method", "instance", "configuration", "seed", "radius", "step", "queries", "objective"]
    assert frame.columns == start
    assert frame["step"].to_list() == [0.01] * 4 + [None] * 2
    assert frame["radius"].to_list() == [0.3, 0.3, 0.6, 0.6, 0.5, 0.5]
    assert repr(runs) == "Runs(6 runs: 2 methods, 1 instance, 2 seeds; 7 columns)"


def test_the_curves_of_a_sweep_are_a_frame(runs):
    frame = runs.curve_frame()
    assert frame.height == sum(len(at) for at, _ in runs.curves)
    at, values = runs.curves[3]
    mine = frame.filter(method="zo-sph", configuration=1, seed=4)
    np.testing.assert_array_equal(mine["queries"], at)
    np.testing.assert_array_equal(mine["objective"], values)
