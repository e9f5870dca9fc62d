"""The guard holds what was mistyped, and lets honest answers pass, heavy tails too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftopt.answers import Answer, Answers, Peers
from driftopt.answers.guard import ENOUGH, OUTERMOST, RECENT, USUAL, Guard

WEEKS = 200_000
# Counts of honest answers that are held must stay below the mean of one in 10,000 by five deviations.
MOST = WEEKS / 10_000


def usual(recent):
    return np.median(np.abs(np.diff(recent)), axis=-1) / 2**0.5


def none(values):
    """No control beside any of them."""
    return np.full(len(values), np.nan)


def held(values, limit=USUAL):
    """Of the last value in each row, judged by those before it, how many are held."""
    recent, last = values[:, :-1], values[:, -1]
    ordered = np.sort(recent, axis=1)
    level = np.median(recent[:, -ENOUGH:], axis=1)
    low, high = np.minimum(ordered[:, OUTERMOST], level), np.maximum(ordered[:, -1 - OUTERMOST], level)
    return int((np.maximum(low - last, last - high) > limit * usual(recent)).sum())


@pytest.mark.parametrize("known", [ENOUGH, RECENT])
def test_of_honest_answers_with_heavy_tails_fewer_than_one_in_10000_is_held(known):
    values = np.random.default_rng(7).standard_t(3, (WEEKS, known + 1))
    assert held(values) < MOST
    assert held(values, limit=20) > MOST + 5 * MOST**0.5  # the twin: a narrower guard is seen to be one


def test_the_formula_is_the_guards():
    rng = np.random.default_rng(1)
    values = rng.standard_t(1, (2000, 20))  # tails heavy enough that some are held
    step = Guard()
    verdicts = [step.judge(Answer(row[-1], peers=Peers(row[:-1]))) for row in values]
    assert sum(verdict is not None for verdict in verdicts) == held(values) > 0


def test_with_few_answers_nothing_is_said_and_then_all_are_judged():
    values = np.array([20.0, 2e5, 21.0, 19.0, 20.5, 22.0, 18.0, 20.0, 21.5, 19.5, 20.2])
    assert len(values) == ENOUGH - 1
    assert Guard().judge(Answer(1e9, peers=Peers(values))) is None
    assert not any(Guard().review(values, none(values)))
    found = Guard().review(np.append(values, 20.1), none(range(ENOUGH)))
    assert [verdict is not None for verdict in found] == [False, True] + [False] * 10


def test_rare_events_are_no_typos():
    quiet = np.zeros(RECENT)
    assert Guard().judge(Answer(1.0, peers=Peers(quiet))) is None
    quiet[3:10] = 1.0
    assert Guard().judge(Answer(5.0, peers=Peers(quiet))) is None


# How the level of honest answers may move: a world that drifts, a study that goes steeply down, pairs.
MOVES = {
    "drift": lambda t: 0.3 * t,
    "steep": lambda t: 3.0 * t,
    "halving": lambda t: 3000 * 0.5 ** (t / 4),
    "pairs": lambda t: 4.0 * (-1) ** t,
}


@pytest.mark.parametrize("known", [ENOUGH, RECENT])
@pytest.mark.parametrize("move", MOVES)
def test_drift_and_steep_improvement_make_no_honest_answer_implausible(move, known):
    values = np.random.default_rng(8).standard_t(3, (WEEKS, known + 1)) + MOVES[move](np.arange(known + 1))
    assert held(values) < MOST


def test_on_the_way_down_a_lost_decimal_point_is_still_seen():
    """Differences tell the noise where values alone tell the way down: the median distance to the median."""
    level = 3000 * 0.9 ** np.arange(RECENT + 1)
    values = level + np.random.default_rng(9).standard_t(3, (2000, RECENT + 1))
    values[:, -1] *= 100
    assert held(values) == len(values)
    raw = values[:, :-1] - np.median(values[:, :-1], axis=1)[:, None]
    spread = np.median(np.abs(raw), axis=1)
    assert not (np.abs(values[:, -1]) > USUAL * spread + np.abs(raw).max()).any()


def test_the_first_answers_of_a_steep_beginning_are_not_doubted():
    """Even where nothing but the way down is seen, and every answer is half of the one before."""
    assert not any(Guard().review(1000 * 0.5 ** np.arange(float(ENOUGH)), none(range(ENOUGH))))


def test_of_a_kind_with_few_answers_one_is_compared_with_every_level_known():
    rng = np.random.default_rng(3)
    start, now = 100 + rng.standard_normal(ENOUGH), 20 + rng.standard_normal(RECENT)
    few = np.array([103.0])

    def verdict(value, *others, alike=few):
        return Guard().judge(Answer(value, peers=Peers(alike, others)))

    assert verdict(1.0, start, now) is None  # near the level now
    assert verdict(60.0, start, now) is None  # between them
    assert verdict(99.0, now) is None  # near its only fellow
    assert verdict(1030.0, start, now).state == verdict(-500.0, start, now).state == "held"
    assert verdict(500.0, now, alike=few[:0]).state == "held"
    assert verdict(1030.0, now[: ENOUGH - 1]) is None  # nobody knows yet what is usual
    assert verdict(1030.0, alike=few[:0]) is None
    # With enough of its own kind, the others have no say.
    assert verdict(20.0, now, alike=start).state == "held"


@given(st.lists(st.floats(-1e50, 1e50), min_size=ENOUGH, max_size=RECENT), st.floats(0.1, 1e3))
def test_units_do_not_matter(values, scale):
    """Cents or euros: what is held is the same, up to rounding."""
    recent = np.array(values)
    level = max(float(np.sort(recent)[-1 - OUTERMOST]), float(np.median(recent[-ENOUGH:])))
    spread = float(usual(recent))
    for times in (0.5, 2.0):
        value = level + times * USUAL * spread
        moved = recent * scale
        same = Guard().judge(Answer(value * scale, peers=Peers(moved))) is None
        expected = times < 1 or spread == 0
        assert same == expected or spread * scale * 1e12 < np.abs(moved).max()


def test_left_out_nothing_looks_back():
    assert not Answers.build().looks_back
    assert Answers.build(guard=USUAL).looks_back
    assert Answers.build().review(np.array([1.0, 1e40])) == [None, None]


def test_a_control_beside_a_value_is_judged_like_a_value_by_those_before_it():
    rng = np.random.default_rng(4)
    values, controls = 20 + rng.standard_normal((2, RECENT))
    answers = Answers.build(guard=USUAL)

    def judge(value, control, before=controls):
        return answers.judge(Answer(value, peers=Peers(values, controls=Peers(before)), control=control))

    assert judge(20.0, 21.0) is None
    assert judge(20.0, None) is None
    assert judge(20.0, 2000.0).reason.startswith("control 2000 is")
    assert judge(-999.0, 2000.0).reason.startswith("-999 is")  # the value's own slip is said first
    assert judge(20.0, 2000.0, before=controls[: ENOUGH - 1]) is None  # too few to know


def test_the_first_controls_are_judged_when_a_dozen_are_in_beside_however_many_values():
    rng = np.random.default_rng(5)
    values, controls = 20 + rng.standard_normal((2, 20))
    controls[::5] = np.nan
    controls[np.flatnonzero(~np.isnan(controls))[ENOUGH:]] = np.nan
    controls[3] = 2000.0
    found = Answers.build(guard=USUAL).review(values, controls)
    assert [i for i, verdict in enumerate(found) if verdict is not None] == [3]
    assert found[3].reason.startswith("control 2000 is")
    assert not any(Answers.build(guard=USUAL).review(values))
    assert not any(Answers.build().review(values, controls))
