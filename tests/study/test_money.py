"""What the owner asks, answered by a study: money, advice, dates, early values, results from before."""

import datetime

import numpy as np
import pytest

from driftopt.study import Study, forecast, load

DAY = 86400.0
BEST = np.array([4.0, 2.2])


class Clock:
    def __init__(self):
        self.now = 1_767_571_200.0  # Monday 2026-01-05

    def __call__(self):
        return self.now


def profit(x):
    return 1000 - 80 * float(((x - BEST) ** 2).sum())


def weekend(at):
    return 150 * (datetime.datetime.fromtimestamp(at, datetime.UTC).weekday() >= 5)


def made(clock, **more):
    options = {"x0": {"tea": 3.0, "mug": 2.0}, "direction": "maximize", "unit": "€", "rng": 1} | more
    return Study.create("sqlite://", "shop", clock=clock, **options)


def lived(days, noise=15.0, **more):
    clock, rng = Clock(), np.random.default_rng(2)
    study = made(clock, **more)
    for _ in range(days):
        clock.now += DAY
        trial = study.ask()
        study.tell(trial.id, profit(trial.x) + weekend(clock.now) + noise * rng.normal())
    return study


@pytest.fixture(scope="module")
def shop():
    return lived(40, season=["weekday"])


def test_cost_and_gain_are_those_of_the_shop(shop):
    money, start = shop.summary().money, profit(np.array([3.0, 2.0]))
    cost = sum(start - profit(trial.x) for trial in shop.trials())
    gain = profit(shop.recommend().x) - start
    assert abs(money.cost.mean - cost) < 3 * money.cost.sem < 0.5 * abs(cost)
    assert abs(money.gain.mean - gain) < 3 * money.gain.sem < gain
    assert money.cumulated[-1] == pytest.approx(-money.cost.mean)
    assert money.errors[-1] == pytest.approx(money.cost.sem)
    assert shop.trials(state="held") == []
    assert sum(month.cost.mean for month in money.months) == pytest.approx(money.cost.mean)
    assert [(month.month, month.deployments) for month in money.months] == [("2026-01", 26), ("2026-02", 14)]
    assert profit(BEST) - profit(shop.recommend().x) < money.forgone


def test_the_owner_reads_money_not_powers_of_ten(shop):
    money = shop.summary().money
    assert money.period == "day"
    text = " ".join(money.advice)
    assert "stopping now forgoes at most €" in text
    assert "30 more days would add about" in text
    assert "e+" not in text
    assert "nan" not in text


def test_the_day_of_the_week_is_learnt_not_taken_for_noise(shop):
    without = lived(40).summary().money
    assert shop.summary().money.gain.sem < 0.7 * without.gain.sem


def test_why_says_what_matters():
    clock, rng = Clock(), np.random.default_rng(4)
    study = made(clock, x0={"tea": 3.0, "idle": 2.0})
    for _ in range(30):
        trial = study.ask()
        study.tell(trial.id, 1000 - 90 * (trial.x[0] - 4) ** 2 + 5 * rng.normal())
    why = study.do("why")
    tea, idle = why.coordinates
    assert tea.matters > 3 > 2 > idle.matters
    assert why.lines[0].startswith("tea matters")
    at = np.argmin(abs(np.array(tea.x) - 3.0))
    expected = -90 * ((tea.x[at] - 4) ** 2 - (study.recommend().x[0] - 4) ** 2)
    assert abs(tea.value[at] - expected) < 4 * tea.error[at] + 5


def test_an_outlook_is_about_as_many_deployments_as_are_asked_for(shop):
    near, far = (shop.do("outlook", deployments=n) for n in (5, 80))
    assert (near.deployments, far.deployments) == (5, 80)
    assert far.gain.mean > near.gain.mean - 2
    with pytest.raises(ValueError, match="outlook needs results"):
        made(Clock()).do("outlook")


def test_a_shock_is_said():
    clock, rng = Clock(), np.random.default_rng(5)
    study = made(clock)
    for day in range(37):
        clock.now += DAY
        trial = study.ask()
        study.tell(trial.id, profit(trial.x) - 300 * (day >= 30) + 10 * rng.normal())
        for held in study.trials(state="held"):
            study.accept(held.id)
        if day == 29:
            assert not any("earlier ones predict" in one for one in study.summary().warnings)
    assert any("below what earlier ones predict" in one for one in study.summary().warnings)


def test_days_are_reported_in_any_order():
    """The date of a result, not the order of asking, is its time and its weekday."""
    rng, dates = np.random.default_rng(6), [f"2026-03-{day:02d}" for day in range(1, 25)]
    values = rng.normal(1000, 30, 24)
    recommended, decisions = [], rng.normal(0, 0.3, (24, 2))
    for order in (range(24), rng.permutation(24)):
        study = made(Clock(), season=["weekday"])
        trials = study.ask_many(24, new=True, holder="till")
        for trial, day in zip(trials, order, strict=True):
            x = study.spec.start + decisions[day]
            study.tell(trial.id, values[day], x_deployed=x, at=dates[day])
        recommended.append(study.recommend().x)
        first = datetime.datetime(2026, 3, int(order[0]) + 1, tzinfo=datetime.UTC)
        assert study.trial(trials[0].id).at == first.timestamp()
        assert study.summary().money.months[0].deployments == 24
    assert recommended[1] == pytest.approx(recommended[0], abs=1e-6)


def test_an_early_value_is_replaced_by_the_final_one():
    clock = Clock()
    one, other = made(clock), made(clock)
    for number in range(6):
        for study in (one, other):
            trial = study.ask()
            final = profit(trial.x) + 7 * (-1) ** number
            if study is one:
                assert study.tell(trial.id, final - 100, early=True) == "complete"
                assert study.tell(trial.id, final - 100, early=True) == "complete"  # again is nothing
                assert study.trial(trial.id).early
            assert study.tell(trial.id, final) == "complete"
            assert study.tell(trial.id, final) == "complete"
            assert study.trial(trial.id).value == final
            assert not study.trial(trial.id).early
    assert np.array_equal(one.recommend().x, other.recommend().x)
    # Early values have been 100 too low, so the next one counts as 100 more.
    for study in (one, other):
        trial = study.ask()
        study.tell(trial.id, profit(trial.x) - 100 * (study is one), early=study is one)
    assert one.recommend().gain.mean == pytest.approx(other.recommend().gain.mean, abs=3)
    assert one.verify() == 6 * 3 + 2


def test_what_was_before_the_study_tells_where_to_go(tmp_path):
    rng, clock = np.random.default_rng(7), Clock()
    rows = []
    for day in range(1, 31):
        x = [3 + 0.4 * rng.normal(), 2 + 0.3 * rng.normal()]
        date = f"2025-11-{day:02d}"
        rows.append(
            {"date": date, "tea": x[0], "mug": x[1], "value": profit(np.array(x)) - 500 + rng.normal()}
        )
    known, path = made(clock, history=rows), tmp_path / "past.csv"
    path.write_text("date,tea,mug,value\n" + "\n".join(",".join(map(str, row.values())) for row in rows))
    assert made(clock, history=path).spec == known.spec
    assert profit(known.ask().x) > profit(known.spec.start) + 10
    # Their level is their own: 500 less then is no gain of 500 now.
    for _ in range(8):
        trial = known.ask(new=True, holder="a")
        known.tell(trial.id, profit(trial.x) + rng.normal())
    assert known.trials(state="held") == []
    assert abs(known.recommend().gain.mean - (profit(known.recommend().x) - profit(known.spec.start))) < 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"history": [{"tea": 3.0, "value": 1.0}]}, "row 1 of history needs mug"),
        ({"history": [{"tea": 3.0, "mug": 2.0}]}, "row 1 of history needs value"),
        ({"history": [{"tea": 3, "mug": 2, "value": 1, "cup": 4}]}, "has cup; its columns are"),
        ({"history": [{"tea": 3, "mug": 2, "value": 1, "date": "3.11."}]}, "must be a date or a time"),
        ({"season": ["tide"]}, "each of season must be"),
        (
            {"season": ["weekday"], "method": "zo-o2nc-2pt", "budget": 40, "radius": 0.1},
            "for the model alone",
        ),
    ],
)
def test_mistakes_are_refused_at_the_door(options, message):
    with pytest.raises(ValueError, match=message):
        made(Clock(), **options)


def test_a_study_begins_again_from_what_another_knows(shop):
    after = shop.begin_again("sqlite://", "next")
    assert (after.spec.names, after.spec.unit, after.spec.season) == (["tea", "mug"], "€", ["weekday"])
    assert after.spec.x0 == shop.recommend().x.tolist()
    assert len(after.spec.history) == 40
    assert profit(after.ask().x) > profit(shop.spec.start) + 30
    third = after.begin_again("sqlite://", "third", budget=9)
    assert third.spec.history == after.spec.history
    assert third.spec.budget == 9


@pytest.mark.parametrize(
    "more", [{"unit": "€"}, {"outputs": ["a", "b"], "objective": {"margin": {"cost": [1, 1]}}}]
)
def test_where_the_value_is_money_the_direction_must_be_said(more):
    with pytest.raises(ValueError, match="direction is needed"):
        Study.create("sqlite://", "shop", x0=[3.0, 2.0], **more)


def test_a_forecast_reads_a_file_as_people_save_it(tmp_path):
    """Semicolons and decimal commas, as spreadsheets of half of Europe write them."""
    rng, path, monday = np.random.default_rng(1), tmp_path / "past.csv", datetime.date(2026, 1, 5)
    dates = [monday + datetime.timedelta(day) for day in range(56)]
    values = [2000 + 400 * (date.weekday() >= 5) + 50 * rng.normal() for date in dates]
    rows = [f"{date};{value:.2f}".replace(".", ",") for date, value in zip(dates, values, strict=True)]
    path.write_text("date;profit\n" + "\n".join(rows))
    known = forecast(path, coordinates=2, value="profit", days=(10, 20), unit="€")
    assert known.noise == pytest.approx(50, rel=0.3)
    assert min(known.weekdays[5:]) > 200 > max(known.weekdays[:5])
    text = "\n".join(known.lines)
    assert "Sat €" in text
    assert "e+" not in text
    assert [one.days for one in known.horizons] == [10, 20]
    assert known.horizons == forecast(path, coordinates=2, value="profit", days=(20, 10), unit="€").horizons
    assert forecast(coordinates=2, level=2000, noise=known.noise, days=[10]).drift is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "past values are needed"),
        ({"past": [1.0, 2.0]}, "at least 4 finite numbers"),
        ({"past": [1.0] * 9, "noise": 2.0}, "leave them out"),
        ({"level": 1.0, "noise": 2.0, "days": []}, "days must be"),
    ],
)
def test_a_forecast_needs_something_to_go_by(given, message):
    with pytest.raises(ValueError, match=message):
        forecast(coordinates=2, **given)


def test_all_of_it_is_the_same_on_every_store_and_over_http(any_url, tmp_path):
    """History, dates, early values and what follows from them; the study that is loaded as well."""
    rows = [
        {"date": f"2025-12-{day:02d}", "tea": 2 + day / 10, "mug": 2.0, "value": 900.0 + day}
        for day in (1, 9, 20)
    ]
    known = []
    for url in (any_url, tmp_path / "plain.db"):
        names = {"x0": {"tea": 3.0, "mug": 2.0}, "direction": "maximize", "unit": "€", "rng": 1}
        study = Study.create(url, "shop", season=["weekday"], history=rows, **names)
        for day in range(1, 13):
            trial = study.ask()
            early = profit(trial.x) - (30 if day != 11 else 3000)  # held, and then replaced by a good one
            study.tell(trial.id, early, at=f"2026-01-{day:02d}", early=True)
            if day % 3:
                study.tell(trial.id, profit(trial.x) + day % 2, at=f"2026-01-{day:02d}")
        study.correct(trial.id, profit(trial.x) + 2, at="2026-02-03")
        known.append(study)
    assert known[0].spec == known[1].spec
    (one, other), (why, same) = (s.summary() for s in known), (s.do("why") for s in known)
    assert one.money == other.money
    assert one.warnings == other.warnings
    assert why == same
    assert [month.month for month in one.money.months] == ["2026-01", "2026-02"]
    assert [t.early for t in known[0].trials()] == [t.early for t in known[1].trials()]
    again = load("sqlite://", known[0].export(tmp_path / "all.json"))
    assert again.summary().money == one.money
    assert again.ask(holder="x").x.tolist() == known[1].ask(holder="x").x.tolist()
