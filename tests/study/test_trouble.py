"""Databases that are locked, gone, read-only or restarting: a sentence, nothing lost, nothing made up."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from driftopt.study import DatabaseRefused, Study
from driftopt.study.log import connections, database
from support.study_worlds import PLAIN, bowl, drive


@pytest.fixture
def hurried(monkeypatch):
    """The same waiting, in hundredths of the time."""
    monkeypatch.setattr(database, "SAY_AFTER", 0.02)
    monkeypatch.setattr(database, "GIVE_UP_AFTER", 0.3)


def test_a_locked_file_is_waited_for_with_a_word_and_given_up_with_a_sentence(tmp_path, hurried, caplog):
    path = tmp_path / "a.db"
    study = Study.create(path, "a", budget=12, **PLAIN)
    trial = study.ask()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseRefused, match="another process is writing to it") as caught:
            study.tell(trial.id, 1.0)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        other.execute("ROLLBACK")
    assert "waiting for sqlite:///" in caplog.text
    assert study.trials()[0].state == "pending"
    assert study.tell(trial.id, 1.0) == "complete"


def test_every_commit_reaches_the_disk_before_it_is_answered(tmp_path):
    engine = connections.sqlite(sa.make_url(f"sqlite:///{tmp_path / 'study.db'}"), 1.0)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    engine.dispose()


def test_who_will_write_keeps_others_from_it_from_the_start_and_who_reads_does_not(tmp_path):
    path = tmp_path / "a.db"
    store = Study.create(path, "a", budget=12, **PLAIN).transport.log.database

    def free(_):
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            return True

    assert not store.write(free)
    assert store.read(free)  # what was said of the last transaction says nothing of the next
    assert not store.write(free)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_gone_acknowledges_nothing(tmp_path, how):
    path = tmp_path / "a.db"
    study = Study.create(path, "a", budget=12, **PLAIN)
    trial = study.ask()
    for name in tmp_path.iterdir():
        name.unlink()
    if how == "replaced":
        Study.create(path, "a", budget=12, **PLAIN).close()
    for say in (lambda: study.tell(trial.id, 1.0), study.ask, study.trials):
        with pytest.raises(DatabaseRefused, match="deleted or replaced"):
            say()
    assert path.exists() == (how == "replaced")


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_wal_file_that_is_gone_acknowledges_nothing_and_loses_nothing(tmp_path, how):
    """What was told before is in the main file once it is noticed, even if the process is killed then."""
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    study = Study.create(path, "a", budget=12, **PLAIN)
    for _ in range(4):
        study.tell(study.ask().id, 1.0)
    trial = study.ask()
    content = wal.read_bytes()
    wal.unlink()
    if how == "replaced":
        wal.write_bytes(content)
    with pytest.raises(DatabaseRefused, match="deleted or replaced"):
        study.tell(trial.id, 1.0)
    killed = tmp_path / "killed.db"
    shutil.copy(path, killed)
    assert [one.state for one in Study.open(killed, "a").trials()] == [*["complete"] * 4, "pending"]


def test_other_processes_that_come_and_go_replace_no_wal_file(tmp_path):
    path = tmp_path / "a.db"
    one = Study.create(path, "a", budget=40, **PLAIN)
    for turn in range(6):
        with Study.open(path, "a") as other:
            trial = other.ask()
            other.tell(trial.id, bowl(trial))
        assert one.status().spent == 2 * turn + 1
        one.tell(one.ask().id, 1.0)
        if turn == 3:
            one.close()  # the last one: SQLite deletes the file, and makes another


LOOK = """
import os, sys
from driftopt.study import Study, StudyError
if os.getuid() == 0:
    # Everything is imported first: the other user may not be allowed to read Python itself.
    with Study.open(sys.argv[1], "a") as rehearsal:
        rehearsal.summary(), rehearsal.recommend()
    os.setuid(65534)
study = Study.open(sys.argv[1], "a")
print(study.summary().spent, study.recommend().results)
try:
    study.tell(13, 5.0)
except StudyError as error:
    print(error)
"""


@pytest.fixture
def public_folder():
    """A folder that other users may enter; pytest's own are private."""
    folder = Path(tempfile.mkdtemp(prefix="driftopt-public-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_who_may_only_read_can_look(public_folder):
    """Another user, who may write neither the file nor its folder."""
    folder = public_folder
    study = Study.create(folder / "a.db", "a", budget=14, **PLAIN)
    for _ in range(12):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    study.ask()
    study.close()
    assert [entry.name for entry in folder.iterdir()] == ["a.db"]
    (folder / "a.db").chmod(0o444)
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(folder / "a.db")], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("13 12\n"), done.stderr
    second = done.stdout.splitlines()[1]
    assert "may be looked at, but not written" in second


def server(postgres, *command):
    """`pg_ctl` on the server of the tests."""
    folder = postgres.rsplit("host=", 1)[1]
    words = [shutil.which("pg_ctl"), "-D", f"{folder}/data", "-w", *command]
    words = ["runuser", "-u", "postgres", "--", *words] if os.getuid() == 0 else words
    subprocess.run(words, check=True, capture_output=True, cwd="/")


def test_a_server_that_restarts_is_waited_for(postgres, postgres_url, monkeypatch):
    study = Study.create(postgres_url, "a", budget=12, **PLAIN)
    trial = study.ask()
    folder = postgres.rsplit("host=", 1)[1]
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    server(postgres, "-m", "immediate", "stop")
    slept = []

    def come_back(_):
        if not slept:
            server(postgres, "-o", options, "-l", f"{folder}/log", "start")
        slept.append(1)

    monkeypatch.setattr(time, "sleep", come_back)
    assert study.tell(trial.id, bowl(trial)) == "complete"
    assert slept
    drive(study)
    assert study.recommend().results == 12


def test_a_server_that_stays_away_is_driftopts_own_error(monkeypatch):
    monkeypatch.setattr(database, "GIVE_UP_AFTER", 0.0)
    with pytest.raises(DatabaseRefused, match="the server does not answer") as caught:
        Study.open("postgresql://u:secret@127.0.0.1:1/db", "a")
    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)


def test_a_row_that_another_transaction_locks_is_waited_for_with_a_word_and_given_up(
    postgres_url, hurried, caplog
):
    study = Study.create(postgres_url, "a", budget=12, **PLAIN)
    trial = study.ask()
    other = sa.create_engine(postgres_url)
    with other.begin() as holding:
        holding.execute(sa.text("SELECT * FROM driftopt_heads FOR UPDATE"))
        with pytest.raises(DatabaseRefused, match="another process is writing to it"):
            study.tell(trial.id, 1.0)
        assert study.trials()[0].state == "pending"  # who reads does not wait
    other.dispose()
    assert "waiting for postgresql" in caplog.text
    assert study.trials()[0].state == "pending"
    assert study.tell(trial.id, 1.0) == "complete"


def test_time_limits_of_a_url_stay_and_those_that_it_leaves_out_are_ours(postgres_url):
    def limits(url):
        found = database.Database(url)
        names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        settings = found.read(lambda tx: [tx.exec_driver_sql(f"SHOW {name}").scalar() for name in names])
        found.close()
        return settings

    assert limits(postgres_url) == ["2s", "1min", "5min"]
    assert limits(f"{postgres_url}&options=-c%20lock_timeout%3D7s") == ["7s", "1min", "5min"]


def test_a_commit_whose_fate_is_unknown_is_repeated_only_where_that_is_the_same(postgres_url, monkeypatch):
    """Telling again is nothing; asking again would be another deployment."""
    study = Study.create(postgres_url, "a", budget=12, **PLAIN)
    trial = study.ask()
    broken = []
    commit = database.sa.engine.RootTransaction.commit

    def breaks(self):
        commit(self)
        if not broken:
            broken.append(1)
            raise database.exc.OperationalError("COMMIT", None, Exception("server closed the connection"))

    monkeypatch.setattr(database.sa.engine.RootTransaction, "commit", breaks)
    assert study.tell(trial.id, 1.0) == "complete"
    broken.clear()
    with pytest.raises(DatabaseRefused, match="not known whether it was made"):
        study.ask()
    monkeypatch.undo()
    assert [found.state for found in study.trials()] == ["complete", "pending"]
