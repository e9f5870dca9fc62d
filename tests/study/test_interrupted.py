"""Ctrl-C, a time limit or MemoryError at any moment: the study is right, or reads its log again."""

import random
import sys
from pathlib import Path

import pytest

import driftopt.study
from driftopt.study import DamagedLog, ImpossiblePlace, NothingToAsk, Study, load
from driftopt.study.log import Opened, Writer
from driftopt.study.session import Session
from support.sessions import known
from support.study_worlds import PLAIN, bowl

HERE = str(Path(driftopt.study.__file__).parent)
PLAN = {**PLAIN, "control_every": 7, "guard": 10.0, "settle": 1, "max_failures": 2}


class Interruption:
    """Raises at the `at`-th line of driftopt/study that runs within it, and counts the lines."""

    def __init__(self, at, error):
        self._at, self._error, self.lines = at, error, 0

    def _line(self, frame, event, _):
        if event == "line":
            self.lines += 1
            if self.lines == self._at:
                raise self._error
        return self._line

    def _call(self, frame, event, _):
        return self._line if frame.f_code.co_filename.startswith(HERE) else None

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)


def asked(study):
    """A trial that is pending."""
    pending = study.trials(state="pending")
    return pending[0] if pending else study.ask()


def answered(study, turn):
    done = study.trials(state="complete")
    return done[turn % len(done)]


OPERATIONS = {
    "ask": lambda study, turn: study.ask(),
    "ask several": lambda study, turn: study.ask_many(2),
    "ask for each": lambda study, turn: study.ask_each([{"holder": "a"}, {"holder": "b"}]),
    "confirm": lambda study, turn: study.ask("confirm"),
    "tell": lambda study, turn: study.tell((one := asked(study)).id, bowl(one)),
    "tell a wild value": lambda study, turn: study.tell(asked(study).id, 1e5),
    "tell several": lambda study, turn: study.tell_many(
        [{"id": one.id, "value": bowl(one)} for one in study.trials(state="pending")]
    ),
    "fail": lambda study, turn: study.fail(asked(study).id),
    "correct": lambda study, turn: study.correct(answered(study, turn).id, 2.5 + turn),
    "void": lambda study, turn: study.void(answered(study, turn).id),
    "hold": lambda study, turn: study.hold(answered(study, turn).id),
    "accept": lambda study, turn: [study.accept(one.id) for one in study.trials(state="held")],
    "extend": lambda study, turn: study.extend(study.status().budget + 1),
    "trials": lambda study, turn: study.trials(),
    "status": lambda study, turn: study.status(),
    "summary": lambda study, turn: study.summary(),
    "recommend": lambda study, turn: study.recommend(),
    "verify": lambda study, turn: study.verify(),
}


def others_go_on(other, turn):
    """Another process asks, tells and sometimes puts right what was told."""
    for step in range(turn % 4):
        one = asked(other)
        other.tell(one.id, bowl(one))
        if (turn + step) % 5 == 0:
            other.correct(one.id, bowl(one) + 0.1)


def test_whatever_is_interrupted_at_any_moment_leaves_a_study_that_is_right(tmp_path):
    rng, lines, interrupted = random.Random(0), dict.fromkeys(OPERATIONS, 300), 0
    for life in range(8):
        path = tmp_path / f"{life}.db"
        one = Study.create(path, "a", budget=2_000, **PLAN)
        other = Study.open(path, "a")
        others_go_on(other, 7)
        for turn, name in enumerate([*OPERATIONS] * 2):
            others_go_on(other, rng.randrange(4))
            if turn % 3 == 0:
                one = Study.open(path, "a")
            error = (KeyboardInterrupt, MemoryError)[rng.randrange(2)]
            with Interruption(rng.randrange(1, lines[name] + 1), error) as interruption:
                try:
                    OPERATIONS[name](one, turn)
                    lines[name] = interruption.lines
                except error:
                    interrupted += 1
                except (NothingToAsk, ValueError):
                    pass
            one._session.follow()
            fresh = Session(one._log, one.spec, one._clock)
            fresh.follow()
            assert known(one._session) == known(fresh), (life, turn, name)
        one.verify()
    assert interrupted >= 200


def behind(path):
    """A study whose process takes an iteration to be open that others have closed meanwhile."""
    one = Study.create(path, "a", budget=100, **PLAIN)
    one.ask(holder="other")
    other = Study.open(path, "a")
    for _ in range(8):
        trial = asked(other)
        other.tell(trial.id, bowl(trial))
    other._session.follow()
    one._session.progress._seen = other._session.progress._seen  # as if it had taken the rows in
    return one


def test_a_place_that_cannot_exist_is_refused_and_nothing_is_appended(tmp_path):
    one = behind(tmp_path / "a.db")
    before = Study.open(tmp_path / "a.db", "a").verify()
    with pytest.raises(ImpossiblePlace, match=r"iteration 0, draw 0 is not open.*try again"):
        one.ask(holder="new")
    assert Study.open(tmp_path / "a.db", "a").verify() == before
    assert one.ask(holder="new").iteration == 4  # it has read the log from its beginning


def opened(log, iteration, draw):
    last = Opened(log._next, iteration, draw, "[[0.0, 0.0], [1.0, 1.0]]", 2, 1, 0.0)
    log.open(last.iteration, last.draw, driftopt.study.log.vector_from_json(last.points), 1, 0.0)


@pytest.mark.parametrize(("iteration", "draw"), [(0, 0), (4, 0), (6, 0), (4, 2), (5, 1)])
def test_an_iteration_that_does_not_come_next_is_refused(url, iteration, draw):
    """Five were opened, the last of them once."""
    study = Study.create(url, "a", budget=100, **PLAIN)
    for _ in range(9):
        study.tell(study.ask().id, 1.0)
    with pytest.raises(ImpossiblePlace, match="does not come next"):
        study._log.write(lambda log: opened(log, iteration, draw))
    study.ask()
    study.verify()


def broken(url, monkeypatch):
    """A study to whose log a row was added that does not follow from the others."""
    study = Study.create(url, "a", budget=100, **PLAIN)
    for _ in range(4):
        study.tell(study.ask().id, 1.0)
    monkeypatch.setattr(Writer, "_check_place", lambda log, place: None)
    place = driftopt.study.trial.Place("method", 0, 0, 1, 0)
    study._log.write(lambda log: log.ask(place, study.spec.start, "somebody", 0.0, None))
    return Study.open(url, "a")


def test_a_log_that_cannot_be_followed_names_the_row_and_is_exported(url, tmp_path, monkeypatch):
    study = broken(url, monkeypatch)
    for look in (study.ask, study.recommend, study.trials, study.summary, study.status, study.verify):
        with pytest.raises(DamagedLog, match="row 11 of the log does not follow"):
            look()
    study.export(tmp_path / "a.csv")
    study.export(tmp_path / "a.json")
    assert (tmp_path / "a.csv").read_text().count("\n") == 6  # a heading and five trials
    with pytest.raises(ValueError, match="row 11"):
        load(f"sqlite:///{tmp_path / 'b.db'}", tmp_path / "a.json")
