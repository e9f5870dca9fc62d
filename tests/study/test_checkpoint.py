"""A study opened from a checkpoint is the replay of its log, to the bit; one that lies is not used.

Longer than 300 lines: each way in which a checkpoint may lie is a function of its own.
"""

import math
from contextlib import closing

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftopt import methods
from driftopt.drivers import host
from driftopt.study import BudgetSpent, DamagedLog, NothingToAsk, Study, checkpoint, delete, exact_json
from driftopt.study.log import Checkpoint, Reader, database, statements
from driftopt.study.log.schema import checkpoints
from driftopt.study.method_state import MethodState
from driftopt.study.session import Session
from support.study_worlds import PLAIN, bowl


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Logs of tests are short: a checkpoint is looked for in any, and written after ten rows."""
    monkeypatch.setattr(checkpoint, "EVERY", 10)


def session(study, checkpoints=True):
    """What a new process knows of the study."""
    fresh = Session(study._log, study.spec, study._clock, checkpoints)
    fresh.follow()
    return fresh


def known(of):
    """All of it, as one text."""
    state = of.state()
    draw = 0 if of.progress.open is None else of.progress.open.draw + 1
    points = [state.recommendation(), state.decisions(draw)]
    return exact_json.dumps([of.progress.as_data(), state.as_data(), points])


def keep(study):
    """A checkpoint now."""
    now = session(study, checkpoints=False)
    assert checkpoint.keep(study._log, now.progress, now.state().as_data())
    return now.progress.rows


# Any history


ACTIONS = ("tell", "tell", "tell", "typo", "fail", "nan", "late", "correct", "void", "accept", "more", "stop")
HISTORIES = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 30), st.sampled_from(["method", "confirm"])),
    max_size=40,
)
WORLDS = st.sampled_from(
    [
        {"control_every": 5, "reserve": 4, "guard": 10.0},
        {"settle": 2, "guard": 10.0},
        {"params": {"radius": 0.3, "batch": 2}, "direction": "maximize", "max_failures": 2},
        {"parallel": 3, "max_failures": 1},
        {"max_change": 0.4, "params": {}, "control_every": 6, "reserve": 6},
        {"grid": 0.1, "bounds": [(-2, 2)] * 2, "constraints": {"A": [[1, 1]], "ub": [3]}},
        {"method": "auto", "covariates": ["rain"]},
    ]
)


def act(study, action, turn, purpose, now):
    """One thing that may happen; what a study refuses leaves it as it was."""
    told = [t.id for t in study.trials() if t.state != "pending"]
    try:
        if action == "more":
            study.extend(study._session.progress.budget + 2)
        elif action == "stop":
            if turn == 0:
                study.stop("enough")
        elif action in ("correct", "void", "accept"):
            if told:
                value = [2.5] if action == "correct" else []
                getattr(study, action)(told[turn % len(told)], *value)
        else:
            trial = study.ask(purpose)
            if action == "late":
                now[0] += 1e9
            elif action == "fail":
                study.fail(trial.id)
            else:
                value = {"typo": 1e6, "nan": math.nan}.get(action, bowl(trial))
                rain = {"rain": math.sin(trial.id)} if study.spec.covariates else None
                study.tell(trial.id, value, covariates=rain)
    except (BudgetSpent, NothingToAsk, ValueError):
        pass


@given(world=WORLDS, history=HISTORIES, at=st.integers(0, 40))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_history_is_the_same_with_a_checkpoint_and_without(world, history, at):
    now = [0.0]
    study = Study.create("sqlite://", "a", budget=30, clock=lambda: now[0], **(PLAIN | world))
    study._session._checkpoints = False  # none but the one below
    drive_some(study, 14)
    for turn, (action, which, purpose) in enumerate(history):
        if turn == at:
            keep(study)
        act(study, action, which, purpose, now)
    if at >= len(history):
        keep(study)
    study._session.follow()
    assert known(session(study)) == known(session(study, checkpoints=False)) == known(study._session)
    study.verify()


def drive_some(study, count):
    for _ in range(count):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))


def test_the_checkpoint_is_used_unless_an_answer_before_it_is_amended(url):
    study = Study.create(url, "a", budget=60, control_every=5, **PLAIN)
    study._session._checkpoints = False
    drive_some(study, 21)
    kept = keep(study)
    assert session(study).progress.resumed_at == kept
    drive_some(study, 2)
    last, control = study.trials()[-1], study.trials(kind="control")[0]
    study.correct(last.id, 3.0)
    study.correct(control.id, 3.0)
    study.extend(80)
    assert session(study).progress.resumed_at == kept
    assert known(session(study)) == known(session(study, checkpoints=False))
    study.void(study.trials()[4].id)
    assert session(study).progress.resumed_at == 0
    assert known(session(study)) == known(session(study, checkpoints=False))


def test_every_method_goes_on_from_its_numbers(name):
    arguments = PLAIN | {"method": name, "params": dict(methods.entry(name).example)}
    study = Study.create("sqlite://", "a", budget=64, **arguments)
    spec = study.spec
    values = np.random.default_rng(0).standard_normal((9, spec.points))
    whole = MethodState(spec)
    whole.follow([*values[:5], None, 80])
    other = MethodState(spec)
    other.resume(exact_json.loads(exact_json.dumps(whole.as_data())))
    for state in (whole, other):
        state.follow([*values[5:], None], 7)
    assert exact_json.dumps(whole.as_data()) == exact_json.dumps(other.as_data())
    assert whole.points.tobytes() == other.points.tobytes()
    assert whole.recommendation().tobytes() == other.recommendation().tobytes()


def test_a_redrawn_iteration_on_a_grid_is_rounded_as_it_was():
    study = Study.create("sqlite://", "a", budget=64, **PLAIN, grid=0.1)
    whole, other = MethodState(study.spec), MethodState(study.spec)
    steps = [np.array([1.0, 2.0]), None, np.array([0.5, 0.0])]
    whole.follow(steps[:2])
    other.resume(whole.as_data())
    for state in (whole, other):
        state.follow(steps)
    assert whole.before.tobytes() == other.before.tobytes()


# When one is written


def test_asking_and_recommending_write_one_now_and_then_and_telling_never(url):
    study = Study.create(url, "a", budget=60, **PLAIN)
    drive_some(study, 3)
    assert held(study) is None
    drive_some(study, 20)
    first = held(study).rows
    assert 0 <= study._session.progress.rows - first < 10 + 5  # an iteration has five rows
    for _ in range(12):
        Study.open(url, "a").trials()
    assert held(study).rows == first
    again = Study.open(url, "a")
    assert again.recommend().x.tobytes() == study.recommend().x.tobytes()
    assert again._session.progress.resumed_at == first


def held(study):
    with study._log.database.engine.connect() as connection:
        found = connection.execute(statements.CHECKPOINT, {"study_id": study._log.study_id}).first()
    return None if found is None else Checkpoint._make(found[:-1])


def test_a_busy_database_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "SAY_AFTER", 0.01)
    study = Study.create(tmp_path / "a.db", "a", budget=60, **PLAIN)
    study._session._checkpoints = False
    drive_some(study, 10)
    other = session(Study.open(tmp_path / "a.db", "a"))
    with closing(sa.create_engine(f"sqlite:///{tmp_path / 'a.db'}").raw_connection()) as raw:
        raw.cursor().execute("BEGIN IMMEDIATE")
        expected = known(other)
    assert held(study) is None
    assert known(session(study)) == expected


def test_a_database_without_the_table_gets_one(url):
    study = Study.create(url, "a", budget=60, **PLAIN)
    with study._log.database.engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE driftopt_checkpoints"))
    drive_some(study, 2)
    assert Study.open(url, "a").recommend().iterations == 1
    drive_some(study, 10)
    assert held(study) is not None
    study.close()
    assert delete(url, "a") > 0


def test_a_method_of_another_package_has_none(monkeypatch):
    """Its code is not known, so neither is whether it is the same."""
    study = Study.create("sqlite://", "a", budget=60, **PLAIN)
    monkeypatch.setitem(vars(study.spec), "provider", "elsewhere")
    assert not Session(study._log, study.spec, study._clock)._checkpoints


def test_a_checkpoint_goes_with_its_study(url):
    study = Study.create(url, "a", budget=60, **PLAIN)
    drive_some(study, 20)
    assert held(study) is not None
    delete(url, "a")
    assert held(study) is None


# One that lies


def lie_in_the_content(kept, study):
    return kept._replace(content=bent(kept.content))


def bent(content):
    """The same state, one number of which is another."""
    data = exact_json.loads(content)
    data["method"]["state"] = [leaf + (leaf.dtype.kind == "f") for leaf in data["method"]["state"]]
    return exact_json.dumps(data)


def other_code(kept, study):
    return kept._replace(content=bent(kept.content), made_by="driftopt of another day")


def longer_than_the_log(kept, study):
    return kept._replace(content=bent(kept.content), rows=kept.rows + 1000)


def another_log(kept, study):
    return kept._replace(content=bent(kept.content), checksum="0" * 32)


def an_earlier_row(kept, study):
    return kept._replace(content=bent(kept.content), rows=kept.rows - 1)


def no_json(kept, study):
    return kept._replace(content="{")


def half_of_it(kept, study):
    content = exact_json.loads(kept.content)
    del content["progress"]["draws"]
    return kept._replace(content=exact_json.dumps(content))


def another_method(kept, study):
    content = exact_json.loads(kept.content)
    content["method"]["state"] = content["method"]["state"][1:]
    return kept._replace(content=exact_json.dumps(content))


LIES = [
    other_code,
    longer_than_the_log,
    another_log,
    an_earlier_row,
    no_json,
    half_of_it,
    another_method,
]


def put(study, kept, seal):
    with study._log.database.engine.begin() as connection:
        connection.execute(sa.delete(checkpoints))
        whole = kept._asdict() | {"seal": seal, "study_id": study._log.study_id}
        connection.execute(sa.insert(checkpoints).values(**whole))


def told(url, more=1):
    """A study with a checkpoint and so many answers after it."""
    study = Study.create(url, "a", budget=60, **PLAIN)
    study._session._checkpoints = False
    drive_some(study, 20)
    keep(study)
    drive_some(study, more)
    return study


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("lie", LIES)
def test_one_that_does_not_fit_is_replaced_by_the_replay(sqlite_url, lie, more):
    """Even with a right seal: it fits neither the log nor the code."""
    study = told(sqlite_url, more)
    false = lie(held(study), study)
    put(study, false, false.seal)
    fresh = session(study)
    assert known(fresh) == known(session(study, checkpoints=False))
    assert fresh.progress.resumed_at == 0
    right = held(study)
    assert right.rows == fresh.progress.rows
    assert right.made_by == checkpoint.own_code()
    assert session(study).progress.resumed_at == right.rows


def test_one_that_was_changed_is_not_trusted(url):
    study = told(url)
    kept = held(study)
    put(study, lie_in_the_content(kept, study), kept.seal)
    assert session(study).progress.resumed_at == 0
    assert known(session(study)) == known(session(study, checkpoints=False))


def test_without_its_seal_it_would_be(sqlite_url, monkeypatch):
    """The twin: whoever believes the content recommends something else."""
    study = told(sqlite_url)
    kept = held(study)
    put(study, lie_in_the_content(kept, study), kept.seal)

    def believing(self, least):
        found = self._connection.execute(statements.CHECKPOINT, self._study).first()
        return Checkpoint._make(found[:-1])

    monkeypatch.setattr(Reader, "checkpoint", believing)
    fresh, whole = session(study), session(study, checkpoints=False)
    assert fresh.progress.resumed_at == kept.rows
    assert fresh.state().recommendation().tobytes() != whole.state().recommendation().tobytes()


def test_damage_before_the_checkpoint_is_found_by_whoever_reads_all(url):
    study = told(url)
    with study._log.database.engine.begin() as connection:
        connection.execute(sa.text("UPDATE driftopt_events SET value = value + 1 WHERE row = 3"))
    again = Study.open(url, "a")
    assert again.recommend().iterations == 10
    for look in (again.verify, again.trials, again.summary):
        with pytest.raises(DamagedLog):
            look()


def test_damage_after_the_checkpoint_is_found_at_once(url):
    study = told(url)
    with study._log.database.engine.begin() as connection:
        last = f"(SELECT max({_row(connection)}) FROM driftopt_events)"
        connection.execute(
            sa.text(f"UPDATE driftopt_events SET value = value + 1 WHERE {_row(connection)} = {last}")
        )
    with pytest.raises(DamagedLog):
        Study.open(url, "a").recommend()


def _row(connection):
    return connection.dialect.identifier_preparer.quote("row")


def interrupted_once(monkeypatch, program):
    """Let Ctrl-C come while this program of the host runs, once."""
    real = getattr(host, program)

    class Interrupt:
        prepare = real.prepare

        def __call__(self, *arguments):
            monkeypatch.setattr(host, program, real)
            raise KeyboardInterrupt

    monkeypatch.setattr(host, program, Interrupt())


@pytest.mark.parametrize("program", ["_ask", "_advance"])
@pytest.mark.parametrize("checkpoints", [False, True], ids=["by its log", "from a checkpoint"])
def test_after_an_interruption_answers_are_told_once_each(monkeypatch, program, checkpoints):
    """Another worker has gone on; whoever asks then is stopped while it follows, and asks again."""
    study = Study.create("sqlite://", "a", budget=64, **PLAIN)
    for _ in range(5):
        study.tell(study.ask().id, 1.0)
    one = session(study, checkpoints=False)
    one.state()  # which knows the first answers
    for _ in range(22):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    one = session(study) if checkpoints else one
    one.follow()
    interrupted_once(monkeypatch, program)
    with pytest.raises(KeyboardInterrupt):
        one.state()
    one.follow()
    assert known(one) == known(session(study, checkpoints=False))
