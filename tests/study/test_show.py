"""`show`: how it is going and what to do now, with a fixed clock; every fact is in the summary too."""

import io
import json
import shlex

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from driftopt.study import BudgetSpent, NothingToAsk, Study, words
from support.study_worlds import PLAIN, bowl, drive

DAY = 86400.0


class Clock:
    now = 1_767_571_200.0  # 2026-01-05

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def shown(study):
    paper = Console(width=80, file=io.StringIO())
    paper.print(study.page())
    text = paper.file.getvalue()
    assert max(map(cell_len, text.splitlines())) <= 80, text
    return text


def test_the_page_tells_values_dates_and_who_holds_what(clock):
    study = Study.create("sqlite://", "weekly", names=["tea", "oil"], budget=20, clock=clock, **PLAIN)
    assert "ask for the next deployment" in shown(study)
    for k in range(6):
        trial = study.ask()
        clock.now += 7 * DAY
        if k == 2:
            study.fail(trial.id, "till down")
        else:
            study.tell(trial.id, 10.0 - k)
    trial = study.ask(holder="ana@till")
    clock.now += 5 * DAY
    text = shown(study)
    for fact in ("2026-01-12 to 2026-02-16 (UTC), 35 days; the last 5 days ago", "█▇▄▂▁", "5 told: 10 … 5",
                 "2 days left, method, with ana@till", words.decision(study.spec, trial.x),
                 "26 days ago: till down", f"tell what trial {trial.id} gave"):  # fmt: skip
        assert fact in text, text
    found = study.summary()
    assert (found.values.trend, found.out[0].lease) == ((10.0, 9.0, 7.0, 6.0, 5.0), "2 days left")
    assert [(lost.id, lost.reason) for lost in found.failures] == [(3, "till down")]
    json.dumps(found.as_dict, allow_nan=False)
    clock.now += 5 * DAY
    assert "3 days overdue, method, with ana@till" in shown(study)
    assert "which is overdue" in study.summary().next.what


def test_a_held_answer_is_shown_until_it_is_settled(clock):
    plan = PLAIN | {"outliers": True}
    study = Study.create("sqlite://", "weekly", budget=60, reserve=4, clock=clock, **plan)
    for _ in range(14):
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    trial = study.ask()
    assert study.tell(trial.id, 1e6) == "held"
    assert f"held {trial.id}" in shown(study)
    assert study.summary().next.commands == (
        f"driftopt study accept sqlite:// weekly {trial.id}",
        f"driftopt study correct sqlite:// weekly {trial.id} VALUE",
    )
    study.accept(trial.id)
    assert study.summary().held == ()
    assert study.summary().next.what == "ask for the next deployment"


def test_a_recommendation_that_is_worse_than_the_start_is_said_to_be(tmp_path):
    study = drive(Study.create(tmp_path / "a.db", "a", budget=14, reserve=6, direction="maximize", **PLAIN))
    for value in (10.0, 5.0, 10.1, 5.1):
        study.tell(study.ask("confirm").id, value)
    said = "the recommendation was measured to be worse than the start"
    assert study.summary().warnings[0].startswith(said)
    assert said in " ".join(shown(study).replace("│", "").split())
    what = "the budget is spent except for 2 deployments: keep the start, which was measured to be better"
    assert study.summary().next.what == what
    page = study.write_page(tmp_path / "a.html").read_text()
    assert said in page
    assert "the start is better kept" in study.recommend().known


@pytest.mark.parametrize("how", [{}, {"parallel": 2}, {"settle": 2}, {"reserve": 4}, {"control_every": 3}])
def test_what_it_says_to_ask_for_can_be_asked(how):
    """At every moment of a study the advice is one that `ask` follows."""
    study = Study.create("sqlite://", "weekly", budget=14, **PLAIN, **how)
    while (advice := study.summary().next).what.startswith(("ask", "tell")):
        if "ask --new" in " ".join(advice.commands) or advice.what.startswith("ask"):
            trial = study.ask(holder="ana", new=True)
        else:
            with pytest.raises(NothingToAsk):
                study.ask(holder="ana", new=True)
            trial = study.trials(state="pending")[0]
            study.tell(trial.id, bowl(trial))
    with pytest.raises(NothingToAsk):
        study.ask()


@pytest.mark.parametrize(
    "name", ["-dash", "tea 'n' oil", "$(reboot)", "זית שמן " * 9, "長い名前" * 9, "a" * 200]
)
def test_any_name_fits_and_its_command_is_one_word(name):
    names = [name, *(f"product {k}" for k in range(199))]
    study = Study.create("sqlite://", name, x0=np.linspace(1, 15, 200), names=names, radius=1.0, budget=8)
    study.ask(holder=name)
    assert "… and 188 more" in shown(study)
    told = shlex.split(study.summary().next.commands[0])
    assert told[-3:] == [name, "1", "VALUE"]


def test_it_advises_to_ask_where_ask_hands_something_out_and_only_there(sqlite_url):
    """Also where an iteration must be drawn anew, and where a decision was held for a period already."""
    failing = Study.create(sqlite_url, "failing", x0=[2.0], method="zo-o2nc-2pt", radius=0.5, budget=9, rng=1)
    settling = Study.create(
        sqlite_url, "settling", x0=[2.0], method="zo-o2nc-2pt", radius=0.5, budget=7, rng=1, settle=2
    )
    for study, failures in ((failing, range(5, 8)), (settling, ())):
        for turn in range(study.spec.budget + 1):
            advised = study.summary().next.what == "ask for the next deployment"
            try:
                trial = study.ask()
            except BudgetSpent:
                assert not advised
                break
            assert advised, turn
            if turn in failures:
                study.fail(trial.id, "down")
            elif trial.kind == "settle":
                study.tell(trial.id, 0.0)
            else:
                study.tell(trial.id, 10.0 + turn / 10)
        else:
            raise AssertionError("the budget was never spent")


def test_what_is_typed_keeps_a_sum(sqlite_url):
    """Rounded like prices, shares would no longer add up to 1."""
    shares = {"A": [[1.0, 1.0, 1.0, 0.0]], "lb": [1.0], "ub": [1.0]}
    study = Study.create(
        sqlite_url, "a", x0=[0.2, 0.3, 0.5, 7.0], radius=0.1, budget=20, rng=0, constraints=shares
    )
    drive(study)
    for trial in study.trials():
        typed = words.as_typed(study.spec, trial.x.tolist())
        assert abs(sum(map(float, typed[:3])) - 1) < 1e-8
        assert len(typed[3]) <= 7  # which stands in no constraint
