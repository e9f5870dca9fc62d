"""Eight processes on one study: no lost update, no duplicate, no locked database."""

import subprocess
import sys
from pathlib import Path

import pytest

from driftopt.study import Study
from study_worlds import PLAIN, drive

WORKER = Path(__file__).with_name("swarm_worker.py")
PROCESSES, SHARE = 8, 250
WIDE = {**PLAIN, "parallel": 25}  # 50 deployments an iteration: room for everybody


@pytest.fixture(scope="module")
def alone():
    """The same deployments made by one process."""
    return drive(Study.create("sqlite://", "swarm", budget=PROCESSES * SHARE, **WIDE)).recommend().x


@pytest.mark.slow
def test_many_processes_make_one_study(url, alone):
    study = Study.create(url, "swarm", budget=PROCESSES * SHARE, **WIDE)
    command = [sys.executable, str(WORKER), url, str(SHARE)]
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    heard = [worker.communicate() for worker in workers]
    assert [(worker.returncode, err) for worker, (_, err) in zip(workers, heard, strict=True)] == [
        (0, "")
    ] * PROCESSES
    told = [line.split() for out, _ in heard for line in out.splitlines()]
    assert {state for _, state in told} == {"complete"}
    assert sorted(int(id) for id, _ in told) == sorted(trial.id for trial in study.trials())
    assert len(told) == PROCESSES * SHARE
    assert study.recommend().x.tobytes() == alone.tobytes()
