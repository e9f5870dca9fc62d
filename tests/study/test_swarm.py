"""Eight processes on one study: no lost update, no duplicate, no locked database."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from driftopt.study import Study
from support.study_worlds import PLAIN, drive

WORKER = Path(__file__).with_name("swarm_worker.py")
PROCESSES, SHARE = 8, 250
WIDE = {**PLAIN, "parallel": 25}  # 50 deployments an iteration: room for everybody


@cache
def alone():
    """The same deployments made by one process."""
    study = Study.create("sqlite://", "swarm", budget=PROCESSES * SHARE // 2, **WIDE)
    study.extend(PROCESSES * SHARE)
    return drive(study).recommend().x


def test_many_processes_make_one_study(url):
    study = Study.create(url, "swarm", budget=PROCESSES * SHARE // 2, **WIDE)
    command = [sys.executable, str(WORKER), url, str(PROCESSES), str(SHARE)]
    # One thread in the process that forks: what is forked must be whole.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = [line.split() for line in done.stdout.splitlines()]
    assert {state for _, state in told} == {"complete"}
    assert sorted(int(id) for id, _ in told) == sorted(trial.id for trial in study.trials())
    assert len(told) == PROCESSES * SHARE
    assert sum(trial.amended for trial in study.trials()) > PROCESSES
    study.stop("enough")
    for view in (study, Study.open(url, "swarm")):
        assert view.recommend().x.tobytes() == alone().tobytes()
