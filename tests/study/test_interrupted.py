"""Ctrl-C, a time limit or MemoryError at any moment: the study is right, or reads its log again."""

import random
import sys
from pathlib import Path

import pytest

import driftopt.study
from driftopt.study import DamagedLog, NothingToAsk, Study
from driftopt.study.session import Session
from support.sessions import known
from support.study_worlds import PLAIN, bowl

HERE = str(Path(driftopt.study.__file__).parent)
PLAN = {**PLAIN, "control_every": 7, "settle": 1, "max_failures": 2}


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
    "ask for each": lambda study, turn: study.do_together("ask", [{"holder": "a"}, {"holder": "b"}]),
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
            fresh = Session(one.transport.log, "a", one.spec, one.transport.clock)
            assert known(one.transport) == known(fresh), (life, turn, name)
        one.verify()
    assert interrupted >= 200


def test_a_log_that_cannot_be_followed_names_the_row(url, tmp_path):
    """A row was added that does not follow from the others."""
    study = Study.create(url, "a", budget=100, **PLAIN)
    for _ in range(4):
        study.tell(study.ask().id, 1.0)
    place = driftopt.study.trial.Place("method", 9, 1, 0)
    study.transport.log.write(lambda log: log.ask(place, study.spec.start, None, "somebody", 0.0, None))
    study = Study.open(url, "a")
    for look in (study.ask, study.recommend, study.trials, study.summary, study.status, study.verify):
        with pytest.raises(DamagedLog, match="row 11 of the log does not follow"):
            look()
