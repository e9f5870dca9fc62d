"""`show`: how it is going and what to do now, with a fixed clock; every fact is in the summary too."""

import io
import json
import shlex

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from driftopt.study import BudgetSpent, NothingToAsk, Study, words
from driftopt.study.log import vector_as_json
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


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (1.0, "7 days left"), (0.4 * DAY, "7 days left"), (5.2 * DAY, "43 hours left"),
        (6 * DAY, "1 day left"), (6 * DAY + 1, "1 day left"), (7 * DAY - 3599, "1 hour left"),
        (7 * DAY - 5400, "90 minutes left"),
        (7 * DAY + 1, "1 second overdue"), (8 * DAY - 1, "1 day overdue"), (9.6 * DAY, "3 days overdue"),
    ],
)  # fmt: skip
def test_a_lease_is_told_to_the_nearest(clock, after, left):
    study = Study.create("sqlite://", "weekly", budget=20, clock=clock, **PLAIN)
    study.ask()
    clock.now += after
    assert study.summary().out[0].lease == left


def test_a_held_answer_is_shown_until_it_is_settled(clock):
    study = Study.create("sqlite://", "weekly", budget=60, reserve=4, clock=clock, **PLAIN)
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
    again = study.ask()
    study.tell(again.id, bowl(again))  # the same point: now the held answer can count no more
    assert [one.waits for one in study.summary().held] == [False]
    assert "its point was answered since" in shown(study)
    assert study.summary().next.what == "ask for the next deployment"


def test_an_answer_of_a_clock_that_is_ahead_is_said_to_be(clock):
    study = Study.create("sqlite://", "weekly", budget=12, clock=clock, **PLAIN)
    clock.now += 5 * DAY
    study.tell(study.ask().id, 1.0)
    clock.now -= 5 * DAY
    assert "the last 5 days ahead of this clock" in shown(study)


def test_the_end_says_what_to_ask_for(clock):
    study = Study.create("sqlite://", "weekly", budget=12, reserve=6, clock=clock, **PLAIN)
    drive(study)
    assert study.summary().next.commands[0] == "driftopt study ask --purpose confirm sqlite:// weekly"
    drive(study, purpose="confirm")
    assert study.summary().next.what == "the budget is spent: ask for the recommendation"
    assert "(standard error), from 3 values" in shown(study)
    study.extend(20)
    drive(study)
    assert study.summary().next.what.startswith("the budget is spent but for 6 deployments: measure")
    stopped = Study.create("sqlite://", "weekly", budget=12, clock=clock, **PLAIN)
    stopped.stop("the shop closes")
    assert "the shop closes" in shown(stopped)
    assert stopped.summary().next.what.startswith("the study is stopped, 12 deployments left: measure")


def test_the_end_says_what_few_deployments_can_still_measure():
    study = drive(Study.create("sqlite://", "weekly", budget=12, reserve=2, **PLAIN))
    assert study.summary().next.what.endswith("tell each value with its sem: too few are left to go without")
    drive(study, purpose="confirm")
    assert "takes 2 more for the purpose confirm, and 0 are left" in study.recommend().note
    for trial in study.trials(kind="confirm"):
        study.correct(trial.id, trial.value, sem=0.1)
    assert study.recommend().improvement is not None
    with pytest.raises(ValueError, match=r"reserve must be 0 or at least 2.*; got 1\. Better 4"):
        Study.create("sqlite://", "b", budget=12, reserve=1, **PLAIN)


def test_a_recommendation_that_is_worse_than_the_start_is_said_to_be(tmp_path):
    study = drive(Study.create(tmp_path / "a.db", "a", budget=14, reserve=6, direction="maximize", **PLAIN))
    for value in (10.0, 5.0, 10.1, 5.1):
        study.tell(study.ask("confirm").id, value)
    said = "the recommendation was measured to be worse than the start"
    assert study.summary().warnings[0].startswith(said)
    assert said in " ".join(shown(study).replace("│", "").split())
    what = "the budget is spent but for 2 deployments: keep the start, which was measured to be better"
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


def test_prices_have_the_digits_of_their_grid_or_of_their_change():
    study = Study.create(
        "sqlite://", "a", x0=[2.5, 9.99, 300.0], grid=[0.05, (0.5, 9.99), 1], budget=8, radius=1.0
    )
    assert words.decimals(study.spec, study.spec.x0) == [2, 2, 0]
    study = Study.create("sqlite://", "a", x0=[2.5, 1000.0], radius=[0.01, 50.0], budget=8)
    assert words.decimals(study.spec, study.spec.x0) == [4, 0]
    assert words.decimals(study.spec, [2.75, 1005.0]) == [4, 1]
    assert words.row(1e300, 1e-300, 2) == ("1e+300", "0.00", "−1e+300")


def test_huge_values_make_a_line_too():
    assert words.sparkline([-1.7e308, 0.0, 1.7e308]) == "▁▅█"
    assert words.fold([1e308] * 100, 3) == [1e308] * 3


@pytest.mark.parametrize("far", [False, True])
def test_the_way_under_max_change_is_counted(far):
    """A way that costs more than is left is not advised: neither back to the method, nor to confirm."""
    settings = {"x0": [1.0, -0.5], "method": "zo-o2nc-2pt", "max_change": 0.3, "rng": 7}
    study = Study.create("sqlite://", "a", budget=10, reserve=6, **settings)
    for verb in ("ask", "ask", "ask --purpose confirm"):
        study.recommend()
        at = study._session.progress.deployed.x
        if far:
            study._session.progress.deployed.x = vector_as_json(np.array([40.0, 0.0]))
        advised = study.summary().next.commands[0]
        assert advised.startswith(f"driftopt study {'recommend' if far else verb} ")
        study._session.progress.deployed.x = at
        if verb == "ask":
            for _ in range(2):
                trial = study.ask()
                study.tell(trial.id, bowl(trial))


def test_it_advises_to_ask_where_ask_hands_something_out_and_only_there(url):
    """Also where an iteration must be drawn anew, and where a decision was held for a period already."""
    failing = Study.create(url, "failing", x0=[2.0], radius=0.5, budget=9, rng=1)
    settling = Study.create(url, "settling", x0=[2.0], radius=0.5, budget=7, rng=1, settle=2)
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


def test_what_is_typed_keeps_a_sum(url):
    """Rounded like prices, shares would no longer add up to 1."""
    shares = {"A": [[1.0, 1.0, 1.0, 0.0]], "lb": [1.0], "ub": [1.0]}
    study = Study.create(url, "a", x0=[0.2, 0.3, 0.5, 7.0], radius=0.1, budget=20, rng=0, constraints=shares)
    drive(study)
    for trial in study.trials():
        typed = words.as_typed(study.spec, trial.x.tolist())
        assert abs(sum(map(float, typed[:3])) - 1) < 1e-8
        assert len(typed[3]) <= 7  # which stands in no constraint
