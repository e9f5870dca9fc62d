"""A damaged database: an error that says so, or the same study; never another one."""

import random
import shutil
import sqlite3
import struct
from contextlib import closing

import pytest

from driftopt.study import DamagedLog, Study, StudyError
from support.study_worlds import PLAIN, bowl

CORRUPTIONS = 400


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A database of a study in the midst of its life, and what it says."""
    path = tmp_path_factory.mktemp("sound") / "a.db"
    study = Study.create(path, "a", budget=60, control_every=9, names=["tea", "oil"], **PLAIN)
    for turn in range(40):
        trial = study.ask(holder="till")
        if turn % 11 == 5:
            study.fail(trial.id, "no stock")
        else:
            study.tell(trial.id, bowl(trial), sem=0.1)
    study.close()
    return path, outcome(path)


def damaged(sound, tmp_path, offset, mask):
    """Each in a file of its own: SQLite keeps more beside it."""
    path = tmp_path / f"{offset}-{mask}.db"
    whole = bytearray(sound[0].read_bytes())
    whole[offset] ^= mask
    path.write_bytes(whole)
    return path


def outcome(path):
    """All that the study says, or the name of driftopt's own error; anything else fails the test."""
    try:
        with Study.open(path, "a") as study:
            said = [list(vars(trial).values()) for trial in study.trials()]
            return repr([study.recommend().x.tolist(), said]).encode()
    except StudyError as error:
        return type(error).__name__


def test_no_byte_changes_what_a_study_says_in_silence(sound, tmp_path):
    rng = random.Random(0)
    size = sound[0].stat().st_size
    found = [
        outcome(damaged(sound, tmp_path, rng.randrange(size), 1 << rng.randrange(8)))
        for _ in range(CORRUPTIONS)
    ]
    others = {found for found in found if isinstance(found, bytes)} - {sound[1]}
    assert not others
    assert found.count("DamagedLog") > CORRUPTIONS / 20  # the test does reach the rows


def test_without_the_checksums_some_would(sound, tmp_path, monkeypatch):
    """The twin: the same bytes, and a log that believes every row."""
    from driftopt.study.log import Reader, statements

    def believing(self, mark):
        where = self._study | {"after": mark.rows}
        rows = [
            (row[0], kind._make(row[:-1]))
            for kind, statement in statements.SINCE
            for row in self._connection.execute(statement, where)
        ]
        return [row for _, row in sorted(rows, key=lambda line: line[0])], self._head

    monkeypatch.setattr(Reader, "since", believing)  # recommendations, summaries, trials: all go this way
    with closing(sqlite3.connect(sound[0])) as connection:
        (value,) = connection.execute(
            "SELECT value FROM driftopt_events JOIN driftopt_trials ON trial_id = id "
            "WHERE driftopt_trials.kind = 'method' AND value IS NOT NULL LIMIT 1"
        ).fetchone()
    offset = sound[0].read_bytes().index(struct.pack(">d", value)) + 2
    assert isinstance(outcome(damaged(sound, tmp_path, offset, 1)), bytes)
    assert outcome(damaged(sound, tmp_path, offset, 1)) != sound[1]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE driftopt_events SET value = value + 1e-9 WHERE row = (SELECT max(row) FROM driftopt_events)",
        "DELETE FROM driftopt_events WHERE row = (SELECT max(row) FROM driftopt_events)",
        "DELETE FROM driftopt_events WHERE row = (SELECT min(row) FROM driftopt_events)",
        "UPDATE driftopt_trials SET holder = 'someone' WHERE id = 3",
        "UPDATE driftopt_heads SET rows = rows - 1",
        "DELETE FROM driftopt_heads",
        "UPDATE driftopt_studies SET spec = replace(spec, '\"budget\": 60', '\"budget\": 61')",
        "UPDATE driftopt_iterations SET row = 'one' WHERE row = (SELECT min(row) FROM driftopt_iterations)",
    ],
)
def test_rows_that_are_changed_lost_or_moved_are_noticed(sound, tmp_path, change):
    path = shutil.copy(sound[0], tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(change).rowcount == 1
        connection.commit()
    with pytest.raises(DamagedLog, match="damaged"):
        Study.open(path, "a").recommend()
    with pytest.raises(DamagedLog, match="damaged"):
        Study.open(path, "a").verify()


def test_a_sound_log_is_verified(url):
    study = Study.create(url, "a", budget=12, **PLAIN)
    assert study.verify() == 0
    trial = study.ask()
    study.tell(trial.id, 1.0)
    assert study.verify() == 3  # an iteration, a trial, an answer
