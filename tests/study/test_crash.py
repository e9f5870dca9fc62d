"""Kill -9, hundreds of times: nothing acknowledged is lost, and the end is the same to the bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from driftopt.study import BudgetSpent, Study
from support.study_worlds import PLAIN, bowl, extend_halfway

ZYGOTE = Path(__file__).with_name("crash_zygote.py")


@pytest.fixture(scope="module")
def zygote():
    """The process that workers are forked from: one for all studies, since it imports for two seconds."""
    # One thread: what is forked must be whole.
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, str(ZYGOTE)], stdin=pipe, stdout=pipe, text=True, env=alone
    ) as one:
        yield one
        one.stdin.close()
    assert one.returncode == 0


def run_killing(zygote, url, kills, budget):
    zygote.stdin.write(f"{url} {kills} 5 {budget}\n")
    zygote.stdin.flush()
    lines = []
    for line in zygote.stdout:
        if line.startswith("{"):
            assert not [words for words in lines if words[0] == "error"]
            return lines, json.loads(line)["killed"]
        lines += [line.split()] if line.strip() else []
    raise AssertionError(f"the process that forks has ended: {lines[-5:]}")


# A worker lives for about one deployment, and for two at most. So a budget is twice the kills: all fall
# into it, before and after it is extended, and an iteration is short enough for them to fall into several;
# not shorter, since whoever begins one has to start JAX.
WIDE = {**PLAIN, "parallel": 40}
# Decisions as they are deployed.
SETTLING = {
    **PLAIN,
    "params": {"radius": 0.3, "batch": 8},
    "settle": 2,
    "grid": 0.05,
    "bounds": [(-2, 2)] * 2,
    "constraints": {"A": [[1, 1]], "lb": [-1]},
    "control_every": 7,
}
# A confirming pair is kept: the budget is larger by what that takes.
STEPWISE = {
    "x0": [1.0, -0.5],
    "method": "model",
    "outliers": False,
    "rng": 7,
    "parallel": 12,
    "max_change": 0.5,
    "grid": 0.05,
    "bounds": [(-2, 2)] * 2,
    "control_every": 10,
    "relative_to_control": True,
    "reserve": 8,
}
FEW = {"params": {"radius": 0.3, "batch": 2}}


@pytest.mark.parametrize(
    ("store", "kills", "budget", "arguments"),
    [
        pytest.param("sqlite", 300, 640, WIDE, id="sqlite"),
        pytest.param("postgres", 30, 64, {**WIDE, "parallel": 8}, id="postgres"),
        pytest.param("sqlite", 60, 120, SETTLING, id="sqlite-settling"),
        pytest.param("postgres", 20, 40, {**SETTLING, **FEW}, id="postgres-settling"),
        pytest.param("sqlite", 60, 180, STEPWISE, id="sqlite-stepwise"),
        pytest.param("postgres", 52, 160, STEPWISE, id="postgres-stepwise"),
    ],
)
def test_no_kill_loses_or_changes_anything(request, zygote, store, kills, budget, arguments):
    url = request.getfixturevalue(f"{store}_url")
    # Half of the budget at first; answers corrected, voided, held and accepted; and stopped at the end.
    Study.create(url, "crash", budget=budget // 2, **arguments).close()
    acknowledged, killed = run_killing(zygote, url, kills, budget)
    assert killed >= kills
    study = Study.open(url, "crash")
    trials = {trial.id: trial for trial in study.trials()}

    told = [(int(id), float.fromhex(value)) for kind, id, value in words(acknowledged, "told")]
    assert len(told) > kills
    # The next worker answers what it finds unanswered, so a lost answer shows in what it finds.
    answered = set()
    for kind, *rest in acknowledged:
        answered |= {rest[0]} if kind == "told" else set()
        assert kind not in ("unanswered", "unfinished") or rest[0] not in answered
    for id, value in told:
        assert (trials[id].state, trials[id].value) == ("complete", value)
    asked = [(int(id), x) for kind, id, x in words(acknowledged, "asked")]
    assert len({id for id, _ in asked}) == len(asked)
    assert all(trials[id].x.tobytes().hex() == x for id, x in asked)

    # The kills fell into several iterations, and on either side of the extension at a quarter of the budget.
    soon = words(acknowledged[: acknowledged.index(["last"])], "told")
    assert study.spec.uses_model or len({trials[int(id)].iteration for _, id, _ in soon}) > 1
    assert len(soon) > budget // 4

    events = {event.kind for trial in trials.values() for event in trial.history}
    assert events >= {"corrected", "voided", "doubted", "accepted"}
    assert (study.status().budget, study.summary().stopped) == (budget, "it is done")

    # Nobody but the dead asked: every deployment was answered at last, and all are those of a quiet life,
    # in which every answer was told at once and right.
    whole = quiet(Study.create("sqlite://", "crash", budget=budget // 2, **arguments), budget)
    assert [life(trial) for trial in trials.values()] == [life(trial) for trial in whole.trials()]
    assert {trial.state for trial in trials.values()} == {"complete"}
    assert study.recommend().x.tobytes() == whole.recommend().x.tobytes()
    if "grid" not in arguments:
        assert len(trials) == budget
    else:
        assert {trial.kind for trial in trials.values()} > {"method", "control"}  # the way there, or settling
    if "reserve" in arguments:  # a confirming pair was kept through it all
        while (trial := study.ask("confirm")).kind != "confirm" or trial.sample == 0:
            study.tell(trial.id, bowl(trial))
    if store == "sqlite":
        with study.transport.log.database.engine.connect() as connection:
            assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"


def quiet(study, budget):
    while True:
        extend_halfway(study, budget)
        try:
            trial = study.ask()
        except BudgetSpent:
            return study
        study.tell(trial.id, bowl(trial))


def life(trial):
    return trial.kind, trial.iteration, trial.point, trial.sample, trial.x.tobytes(), trial.value


def words(lines, kind):
    return [line for line in lines if line[0] == kind]
