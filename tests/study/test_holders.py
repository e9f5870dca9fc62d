"""Who holds what: a named holder gets again what it has not answered."""

import pytest
from sqlalchemy import exc

from driftopt.study import BudgetSpent, DatabaseRefused, Study, StudyError, load
from driftopt.study.log import Writer, database
from support.study_worlds import PLAIN, bowl


def test_a_named_holder_gets_what_it_has_not_answered(sqlite_url, clock, tmp_path):
    study = Study.create(sqlite_url, "a", budget=20, clock=clock, lease=10.0, **PLAIN)
    first = study.ask(holder="till")
    again = Study.open(sqlite_url, "a", clock=clock).ask(holder="till")
    assert (again.id, again.x.tobytes(), again.expires_at) == (first.id, first.x.tobytes(), first.expires_at)
    other = study.ask(holder="till", new=True)
    assert other.id != first.id
    assert study.ask(holder="till").id == first.id
    assert [trial.id for trial in study.ask_many(3, holder="till")] == [first.id, other.id]
    clock.now += 11.0  # a week late: nobody else has taken it meanwhile
    assert study.trial(first.id).state == "expired"
    renewed = study.ask(holder="till")
    assert (renewed.id, renewed.state, renewed.expires_at) == (first.id, "pending", clock.now + 10.0)
    watcher = Study.open(sqlite_url, "a", clock=clock)
    assert watcher.trial(first.id).expires_at == renewed.expires_at
    rows = watcher.verify()
    assert (len(watcher.trials()), [one.kind for one in study.watch(0).new()].count("renewed")) == (2, 1)
    taken = load("sqlite://", watcher.export(tmp_path / "a.json"))
    assert (taken.trial(first.id).expires_at, taken.verify()) == (renewed.expires_at, rows)
    study.tell(first.id, 1.0)
    assert study.ask(holder="till").id == other.id
    study.fail(other.id, "down")
    assert study.ask(holder="till").id not in (first.id, other.id)


def test_what_another_took_over_is_not_handed_out_again(sqlite_url, clock):
    study = Study.create(sqlite_url, "a", budget=20, clock=clock, lease=10.0, parallel=1, **PLAIN)
    mine = study.ask_many(2, holder="me")
    clock.now += 11.0
    theirs = study.ask(holder="you")
    assert theirs.x.tobytes() == mine[0].x.tobytes()
    assert study.ask(holder="me").id == mine[1].id


def test_holders_do_not_meet_and_nobody_in_particular_gets_another(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=20, **PLAIN)
    assert study.ask(holder="me").id != study.ask(holder="you").id
    study = Study.create(sqlite_url, "b", budget=20, **PLAIN)
    assert study.ask().id != study.ask().id


def test_a_holder_keeps_what_it_has_deployed_itself(sqlite_url):
    """Three times the start: what north has deployed is not deployed in the south."""
    study = Study.create(sqlite_url, "a", budget=20, **PLAIN)

    def start(holder, *, fails=False):
        trial = study.ask("confirm", holder)
        assert trial.x.tolist() == study.spec.x0
        study.fail(trial.id) if fails else study.tell(trial.id, 1.0)
        assert Study.open(sqlite_url, "a").trial(trial.id).keep == trial.keep == study.trials()[-1].keep
        return trial.keep

    assert [start("north"), start("south"), start("north")] == [False, False, True]  # x0 is recommended too
    assert [start("south", fails=True), start("south")] == [True, False]
    assert [start("north"), start("north")] == [False, True]
    first = study.ask("confirm", "north")
    assert (first.keep, start("south")) == (True, True)
    study.fail(first.id)  # not the last one, and still nobody knows what is deployed in the north
    assert [start("north"), start("north")] == [False, True]
    trial = study.ask(holder="south")
    study.tell(trial.id, bowl(trial))
    assert not start("north")  # the south may be the same shop, and has deployed another decision


def test_an_earlier_recommendation_is_not_evaluated_again(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=20, **PLAIN)
    old = study.ask("confirm", holder="till")
    for _ in range(2):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    new = study.ask("confirm", holder="till")
    assert (old.point, new.point) == (0, 1)
    assert new.id != old.id


def outcome(study, **question):
    try:
        return study.ask(**question)
    except (StudyError, ValueError) as error:
        return error


def asked(answer):
    """The one trial of an answer, or the refusal."""
    return answer if isinstance(answer, Exception) else answer.trials[0]


def test_several_who_ask_at_once_get_what_each_would_have_got(any_url, clock):
    """In one transaction, refusals among them, over the end of an iteration: to the bit as one by one."""
    together, alone = (
        Study.create(any_url, name, budget=9, clock=clock, **PLAIN | {"parallel": 2}) for name in ("a", "b")
    )
    questions = [{"holder": f"till {n}", "key": f"k{n}"} for n in range(4)]
    questions[1:1] = [{"holder": "till 0"}, {"holder": "a\nb"}, {"holder": "till 0", "new": True}]
    for _ in range(3):
        got = [asked(one) for one in together.do_together("ask", questions)]
        for question, one in zip(questions, got, strict=True):
            own = outcome(alone, **question)
            if isinstance(own, Exception):
                assert (type(one), str(one).split(":")[0]) == (type(own), str(own).split(":")[0])
            else:
                assert (one.x.tobytes(), one.holder, one.point) == (own.x.tobytes(), own.holder, own.point)
        for study in (together, alone):
            study.tell_many([{"id": one.id, "value": bowl(one)} for one in study.trials("pending")])
        questions = [{**one, "key": f"{one['key']} again"} if "key" in one else one for one in questions]
    assert together.recommend().x.tobytes() == alone.recommend().x.tobytes()
    assert isinstance(got[-1], BudgetSpent)


def test_what_was_not_committed_was_not_handed_out(sqlite_url, monkeypatch):
    """An attempt that fails at its end is made again, or given up, as if it had not been."""
    study, tries = Study.create(sqlite_url, "a", budget=20, **PLAIN | {"parallel": 3}), []
    study.ask(holder="first")
    finish = Writer.finish

    def fails(self):
        tries.append(self.appended)
        if len(tries) in (1, 3):
            raise exc.OperationalError("commit", None, Exception("database is locked"))
        return finish(self)

    monkeypatch.setattr(Writer, "finish", fails)
    got = [asked(one) for one in study.do_together("ask", [{"holder": "b"}, {"holder": "c"}])]
    assert tries == [2, 2]
    monkeypatch.setattr(database, "GIVE_UP_AFTER", -1.0)
    with pytest.raises(DatabaseRefused):
        study.do_together("ask", [{"holder": "d"}, {"holder": "e"}])
    last = study.ask(holder="d")
    assert [one.id for one in study.trials()][1:] == [got[0].id, got[1].id, last.id]
    assert [one.point for one in study.trials()] == [0, 1, 2, 3]
    assert study.verify() == 5


def test_who_told_is_in_the_log_and_makes_no_other_answer(any_url):
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    first, second = study.ask_many(2)
    study.tell(first.id, 1.5, who="ana")
    assert study.tell(first.id, 1.5, who="ben") == "complete"  # the same answer, whoever says it
    study.fail(second.id, "empty shelf", who="ben")
    study.tell_many([{"id": study.ask().id, "value": 2.0, "who": "eve"}])
    assert [[event.who for event in trial.history] for trial in study.trials()] == [["ana"], ["ben"], ["eve"]]
    with pytest.raises(ValueError, match="who"):
        study.tell(first.id, 1.5, who=" ")
