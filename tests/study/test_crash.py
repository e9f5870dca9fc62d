"""Kill -9, hundreds of times: nothing acknowledged is lost, and the end is the same to the bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from driftopt.study import Study
from support.study_worlds import PLAIN, drive

ZYGOTE = Path(__file__).with_name("crash_zygote.py")
WIDE = {**PLAIN, "parallel": 40}  # 80 deployments an iteration: few workers have to start JAX


def run_killing(url, kills):
    command = [sys.executable, str(ZYGOTE), url, str(kills), "5"]
    # One thread: what is forked must be whole.
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=alone, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert not [line for line in lines if line[0] == "error"]
    return lines[:-1], json.loads(done.stdout.splitlines()[-1])["killed"]


@pytest.mark.slow
@pytest.mark.parametrize(("store", "kills", "budget"), [("sqlite", 300, 2400), ("postgres", 30, 320)])
def test_no_kill_loses_or_changes_anything(request, store, kills, budget):
    url = request.getfixturevalue(f"{store}_url")
    Study.create(url, "crash", budget=budget, **WIDE).close()
    acknowledged, killed = run_killing(url, kills)
    assert killed >= kills
    study = Study.open(url, "crash")
    trials = {trial.id: trial for trial in study.trials()}

    told = [(int(id), float.fromhex(value)) for kind, id, value in words(acknowledged, "told")]
    assert len(told) > kills
    # The next worker answers what it finds unanswered, so a lost answer shows in what it finds.
    answered = set()
    for kind, *rest in acknowledged:
        answered |= {rest[0]} if kind == "told" else set()
        assert kind != "unanswered" or rest[0] not in answered
    for id, value in told:
        assert (trials[id].state, trials[id].value) == ("complete", value)
    asked = [(int(id), x) for kind, id, x in words(acknowledged, "asked")]
    assert len({id for id, _ in asked}) == len(asked)
    assert all(trials[id].x.tobytes().hex() == x for id, x in asked)

    # Nobody but the dead asked, so every deployment was answered once, and the budget is spent to the last.
    assert [trial.state for trial in trials.values()] == ["complete"] * budget
    whole = drive(Study.create("sqlite://", "crash", budget=budget, **WIDE))
    assert study.recommend().x.tobytes() == whole.recommend().x.tobytes()
    if store == "sqlite":
        with study._log.database.engine.connect() as connection:
            assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"


def words(lines, kind):
    return [line for line in lines if line[0] == kind]
