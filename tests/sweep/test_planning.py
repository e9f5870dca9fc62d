"""A sweep's plan counts what the sweep then spends."""

import io
from contextlib import suppress
from types import SimpleNamespace

import pytest

from driftopt import sweep
from driftopt.comparison import comparison
from driftopt.outside import AskTell
from driftopt.problems.synthetic import kink
from driftopt.sweep import grid, planning
from driftopt.sweep.progress import SweepProgress
from driftopt.sweep.settings import RunOptions

GRIDS = [
    grid("zo-sph", step=[0.01, 0.02], radius=[0.5, 1.0], batch=[1, 3]),
    grid("zo-og", step=0.1, radius=1.0),
]
CALL = {"problems": [kink(2, rng=1), kink(2, rng=2)], "budget": 100, "seeds": range(3)}


def test_runs_queries_and_parts_are_those_of_the_sweep():
    plan = sweep.plan(GRIDS, **CALL)
    runs = sweep.run(GRIDS, progress=False, **CALL)
    assert (plan.runs, plan.queries) == (len(runs), runs.manifest["queries"])
    assert plan.parts == runs.manifest["parts"]
    assert plan.seconds > 0
    assert str(plan).startswith("54 runs, 5,304 queries in 3 parts: about ")


def test_configurations_that_cannot_start_cost_nothing():
    plan = sweep.plan([grid("zo-sph", step=0.01, radius=1.0, batch=[1, 90])], **CALL)
    assert (plan.runs, plan.queries, plan.parts) == (12, 600, 1)


def test_ten_million_runs_are_planned_without_running_or_building_them(monkeypatch):
    """10,000 configurations × 20 seeds × 50 instances, timed as if a pilot had said so."""
    monkeypatch.setattr(planning, "time_pilot", lambda _: (1e8, 2.0))
    steps = [0.0001 * i for i in range(1, 1001)]
    big = [grid("zo-sph", step=steps, radius=[0.1 * i for i in range(1, 11)])]
    plan = sweep.plan(big, [kink(5, rng=1)] * 50, budget=10_000, seeds=range(20), evaluate_every=100)
    assert plan.seconds == pytest.approx(2 + 1000, rel=0.01)
    assert str(plan).endswith("about 17 minutes here, 14.2 GB of results")
    many = sweep.plan(big, [kink(5, rng=1)] * 50, budget=10_000, seeds=range(20), workers=1000)
    assert many.seconds == pytest.approx(2 + 1, rel=0.01)
    assert many.parts >= 4000 > plan.parts == 1000  # four for each worker, as `run` would cut it
    assert "with 1,000 workers like this machine" in str(many)


def test_a_comparison_is_planned_whole(monkeypatch):
    """Development runs of what is tuned, and held-out runs of one configuration of each."""
    monkeypatch.setattr(planning, "time_pilot", lambda *_: (1e8, 2.0))
    methods = {"zo-sph": {"step": [0.01, 0.1], "radius": 0.5}, "zo-og": {"step": 0.1, "radius": 0.5}}
    plan = comparison.plan(kink(2), methods, budget=100, development=3, held_out=4)
    assert plan.runs == 2 * 3 + 2 * 4


class Clock:
    """A clock that only `work` moves."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("power", [1, 2])
def test_slow_runs_are_timed_by_a_pilot_that_sees_how_their_time_grows(monkeypatch, power):
    """An optimiser whose time grows with its values, and a Python function that takes a second."""
    clock = Clock()
    monkeypatch.setattr(planning, "time", SimpleNamespace(perf_counter=clock))

    class Asked:
        def __init__(self, x0, seed):
            self.x, self.asked = x0, 0

        def ask(self):
            return self.x

        def tell(self, x, value):
            self.asked += 1
            clock.now += 1e-3 * (self.asked**power - (self.asked - 1) ** power)

    def function(x):
        clock.now += 1.0
        return float(x @ x)

    plan = comparison.plan(kink(2), {"mine": {"method": AskTell(Asked)}}, budget=800, held_out=4)
    assert plan.seconds == pytest.approx(4 * 1e-3 * 800**power, rel=0.01)
    call = {"budget": 40, "held_out": 4, "x0": [1.0, 1.0], "evaluations": 10}
    plan = comparison.plan(function, {"zo-sph": {"radius": 0.5, "step": 0.1}}, **call)
    assert plan.seconds == pytest.approx(4 * (40 + 10), rel=0.01)


def test_the_time_left_is_that_of_each_method(monkeypatch):
    """The quick method is nearly done, and the slow one is not."""
    settings = {"seeds": [0, 1, 2, 3], "budget": 100}
    quick, slow = (
        next(iter(RunOptions([grid(name, label=name, radius=1.0, step=0.1)], [kink(2)], **settings).groups()))
        for name in ("zo-sph", "zo-og")
    )
    shown, clock = SweepProgress("sweep", show=False), Clock()
    monkeypatch.setattr("driftopt.sweep.progress.time", SimpleNamespace(monotonic=clock))
    run = ((0, 1), (0, 1), (0, 1))
    shown.begin([group.cut(run) for group in (quick, quick, slow, slow, slow)])
    clock.now = 1.0
    shown.advance(quick.cut(run), 1.0)
    assert shown.time_left() == "at least 1 second left"  # nothing is known of the slow one
    clock.now = 101.0
    shown.advance(slow.cut(run), 100.0)
    assert shown.time_left() == "about 3 minutes left"


def test_the_command_says_what_it_will_take_and_starts_nothing(tmp_path, monkeypatch, capsys):
    """Without a terminal it stops there; at one, only a yes starts it."""
    from driftopt.cli import compare as command

    monkeypatch.setattr(planning, "time_pilot", lambda *_: (1e8, 2.0))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "kink.toml"
    file.write_text('budget = 100\nproblem = "kink"\nheld_out = 4\n[methods.zo-og]\nradius = 1\nstep = 0.1\n')
    command.compare(file, plan=True)
    said = capsys.readouterr().out
    assert said.startswith("4 runs, 400 queries in 1 part: about 2 seconds here")
    assert "Nothing was started" in said
    assert not (tmp_path / "results").exists()
    started = []
    monkeypatch.setattr(comparison, "compare", lambda **_: started.append(True) or 1 / 0)
    for answer, starts in (("", False), ("no\n", False), ("y\n", True), ("Yes \n", True)):
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        with suppress(ZeroDivisionError):
            command.compare(file, plan=True)
        assert bool(started) is starts
        started.clear()
    with pytest.raises(ZeroDivisionError):
        command.compare(file, plan=True, yes=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_large_sweep_starts_only_when_somebody_says_so(monkeypatch, capsys):
    """At a terminal it asks; elsewhere it never waits."""
    monkeypatch.setattr(planning, "time_pilot", lambda *_: (1.0, 2.0))
    monkeypatch.setattr(planning, "MANY", 5_000)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    with pytest.raises(sweep.NotConfirmed, match=r"about 88 minutes here.*no terminal to ask at"):
        sweep.run(GRIDS, confirm=True, progress=False, **CALL)
    monkeypatch.setattr("sys.stdin", Terminal("no\n"))
    with pytest.raises(sweep.NotConfirmed, match="the answer was no"):
        sweep.run(GRIDS, confirm=True, progress=False, **CALL)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    capsys.readouterr()
    assert len(sweep.run(GRIDS, confirm=True, progress=False, **CALL)) == 54
    assert capsys.readouterr().err.startswith("54 runs, 5,304 queries in 3 parts: about 88 minutes here")
