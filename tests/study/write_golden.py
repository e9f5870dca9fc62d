"""Write the golden database of the present format: `python tests/study/write_golden.py`, once a format.

It is committed and never written again: later code must still open it. Its studies: one in every state, one
with units, a grid, constraints and settling, one with limited steps, and one with side information.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from driftopt.study import NothingToAsk, Study
from support.study_worlds import bowl, drive

PATH = Path(__file__).parent / "golden" / "studies.sqlite"


class Clock:
    now = 1_700_000_000.0

    def __call__(self):
        self.now += 3600.0
        return self.now


def states(path):
    """A study that has been in every state, and the end that it comes to."""
    clock = Clock()
    study = Study.create(
        path,
        "states",
        x0=[1.0, -0.5, 0.25],
        names=["tea", "coffee", "cocoa"],
        bounds=[(0, 2), (-1, None), (None, 1)],
        budget=90,
        method="zo-o2nc-2pt",
        params={"radius": 0.3, "batch": 2},
        rng=2**40 + 7,
        direction="maximize",
        max_failures=2,
        control_every=6,
        reserve=8,
        lease=30 * 3600.0,
        clock=clock,
    )
    for turn in range(40):
        try:
            trial = study.ask()
        except NothingToAsk:
            break
        if turn == 9:
            study.fail(trial.id, "no stock")
        elif turn in (15, 16):
            study.tell(trial.id, float("nan"))
        elif turn == 20:
            study.tell(trial.id, 1.0, x_deployed=trial.x + 1.0)
        elif turn != 25:
            study.tell(trial.id, bowl(trial), sem=0.1)
    clock.now += 31 * 3600.0
    for _ in range(3):  # the overdue point again, and the next iteration's first
        trial = study.ask()
        study.tell(trial.id, bowl(trial), sem=0.1)
    study.ask()
    told = [t for t in study.trials(state="complete", kind="method") if t.iteration == 1]
    study.correct(told[0].id, 2.5, "lost decimal point", who="ana")
    study.void(told[1].id, "till was broken", who="bo")
    found = study.recommend()
    controls = study.summary().drift.n
    study.close()
    # The end is computed on a copy: the golden file keeps its open iteration.
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(path, Path(folder) / "copy.db")
        rest = Study.open(copy, "states", clock=clock)
        for trial in rest.trials(state="pending"):
            rest.tell(trial.id, bowl(trial))
        final = drive(rest).recommend().x
        rest.close()
    return {"states": found.x, "iterations": found.iterations, "controls": controls, "final": final}


def decisions(path):
    """Two studies with everything that a decision may have to keep."""
    study = Study.create(
        path,
        "decisions",
        x0=[2.2, 5.4, 12.0],
        radius=[0.2, 0.5, 2.0],
        bounds=[(1, 5), (2, 12), (4, 20)],
        constraints={"A": [[1, -1, 0]], "ub": [-1]},
        grid=[0.05, 0.1, None],
        budget=60,
        reserve=10,
        settle=2,
        control_every=5,
        max_failures=2,
        method="zo-o2nc-2pt",
        rng=11,
        clock=Clock(),
    )
    for turn in range(33):
        trial = study.ask()
        if turn in (5, 9):
            study.fail(trial.id, "no stock")
        else:
            study.tell(trial.id, bowl(trial), x_deployed=np.add(trial.x, [0.02, 0.0, 0.0]))
    far = Study.create(
        path,
        "far",
        x0=[0.0, 0.0],
        grid=0.05,
        max_change=0.25,
        method="zo-o2nc-2pt",
        params={"block": 3},
        budget=150,
        reserve=40,
        rng=2,
        clock=Clock(),
    )
    drive(far, lambda trial: -10.0 * float(trial.x.sum()))
    for _ in range(24):
        far.tell(far.ask("confirm").id, 1.0)
    return {"decisions": study.recommend().x, "far": far.recommend().x}


def side(path):
    """A study with all that can be told with a value."""
    study = Study.create(
        path,
        "side",
        x0=[1.0, -0.5],
        radius=0.3,
        method="zo-o2nc-2pt",
        budget=60,
        rng=3,
        covariates=["crowd", "rain"],
        limits={"complaints": {"max": 7.0, "hard": True}, "calls": {}},
        relative_to_control=True,
        control_every=6,
        clock=Clock(),
    )
    rng = np.random.default_rng(0)
    for turn in range(44):
        trial, crowd = study.ask(), float(rng.normal())
        more = {"control": crowd} if turn % 3 else {}
        study.tell(
            trial.id,
            bowl(trial) + 2 * crowd,
            covariates={"crowd": crowd} if turn % 5 else {"crowd": crowd, "rain": 1.0},
            metrics={"complaints": 4 + float(trial.x[0]), "calls": float(turn)},
            n=1 + turn % 4,
            **more,
        )
    study.correct(study.trials()[7].id, 1.25, covariates={"crowd": 0.5}, metrics={"complaints": 4.5})
    found = study.recommend()
    effects = [one.effect for one in study.summary().covariates]
    return {"side": found.x, "effects": effects, "complaints": found.metrics[0].mean}


def main():
    if PATH.exists():
        raise SystemExit(f"{PATH} exists: a golden database is written once")
    numbers = states(PATH) | decisions(PATH) | side(PATH)
    np.savez(PATH.with_suffix(".npz"), **numbers)
    print(numbers)


if __name__ == "__main__":
    main()
