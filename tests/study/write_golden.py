"""Write the golden database of the present format: `python tests/study/write_golden.py`, once a format.

It is committed and not written again: later code must still open it.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from driftopt.study import Study
from support.study_worlds import bowl

NOW = 1_700_300_000.0  # the last trial is out still
PATH = Path(__file__).parent / "golden" / "studies.sqlite"


class Clock:
    now = 1_700_000_000.0

    def __call__(self):
        self.now += 3600.0
        return self.now


def write(name, **plan):
    """A study with every state, and what it says now."""
    clock = Clock()
    study = Study.create(
        PATH,
        name,
        x0=[1.0, -0.5, 0.25],
        names=["tea", "coffee", "cocoa"],
        bounds=[(0, 2), (-1, None), (None, 1)],
        direction="maximize",
        max_failures=2,
        control_every=6,
        lease=30 * 3600.0,
        rng=2**40 + 7,
        clock=clock,
        **plan,
    )
    for turn in range(16):
        trial = study.ask(holder=f"till {turn}")
        if turn == 9:
            study.fail(trial.id, "no stock")
        elif turn == 12:
            study.tell(trial.id, float("nan"))
        elif turn == 3:
            clock.now += 31 * 3600.0
        elif turn != 15:
            study.tell(trial.id, bowl(trial), sem=0.1, n=4)
    trials = study.trials(state="complete", kind="method")
    study.correct(trials[1].id, 2.5, "lost decimal point", who="ana")
    study.void(trials[2].id, "till was broken", who="bo")
    study.hold(trials[3].id, "a fair?")
    print(study.summary().states)
    found = study.recommend().x
    study.close()
    with tempfile.TemporaryDirectory() as folder:  # the next question is not written down
        copy = shutil.copy(PATH, Path(folder) / "copy.db")
        return {name: found, f"{name}-next": Study.open(copy, name, clock=lambda: NOW).ask().x}


if __name__ == "__main__":
    if PATH.exists():
        raise SystemExit(f"{PATH} exists: a golden database is written once")
    numbers = write("model")
    numbers |= write("sequential", method="zo-o2nc-2pt", params={"radius": 0.3}, budget=90)
    np.savez(PATH.with_suffix(".npz"), **numbers)
