"""The service's page in a real browser: two people, a month of a shop, and whatever names they choose."""

from contextlib import ExitStack

import pytest

from driftopt.study import Study
from support.browser import chromium, complaints, requested, resize
from support.servers import OTHERS, SECRET
from support.study_worlds import bowl
from support.windows import Window

DAY = 86400.0


def shop(prices):
    """What a day gives: most at tea 2.8 and oil 10.5."""
    tea, oil = prices
    return round(100 - 60 * (tea - 2.8) ** 2 - 8 * (oil - 10.5) ** 2, 3)


PRICES = "name;value;low;high;step\ntea;2,50;2,00;3,20;0,05\nolive oil;9,90;8,50;12,00;0,10\n"


def test_a_month_of_a_shop_by_two_people_at_once(browser, served, server_time, tmp_path):
    """Ana begins it from a table of prices; she and Ben ask and tell in turn; each sees the other."""
    name = "prices of June"
    with ExitStack() as stack:
        ana = Window(browser, served[0])
        ben = Window(stack.enter_context(chromium(tmp_path)), served[0], OTHERS["till"][0])
        for window, person in ((ana, "Ana"), (ben, "Ben")):
            window.run("document.getElementById('person').click()")
            window.fill("Name", person)
            window.press("Keep", "dialog")
            window.closed()
        ana.run("location.hash = '#/new'")
        ana.fill("Name", name)
        ana.fill("Values should be", "maximize")
        ana.fill("A table: name and value, and where wanted low, high and step", PRICES)
        ana.fill("Deployments in all", "30")
        ana.fill("Method", "zo-o2nc-2pt")
        ana.fill("First guess of a change", "0.3")
        ana.says("2 coordinates")
        ana.press("Begin the study")
        ana.says("Nothing was asked yet.")
        ben.open(name)

        people, told = (ana, ben), 0
        for day in range(15):
            server_time[0] += 2 * DAY
            window, other = people[day % 2], people[1 - day % 2]
            id, prices = window.ask()
            other.until("document.querySelector('#out').innerText.includes(given[0])", f"Trial {id} ")
            window.tell(id, shop(prices))
            told += 1
            state = "document.querySelector(`#trials tr[data-trial='${given[0]}'] .state`)?.textContent"
            other.until(f"{state} === 'complete'", id)
        study = Study.open(served[1], name)
        found = study.trials()
        assert [trial.holder for trial in found] == ["Ana", "Ben"] * 7 + ["Ana"]
        assert [trial.value for trial in found] == [shop(trial.x.round(6)) for trial in found]
        assert study.summary().spent == told == 15

        # Ben types a value without its decimal point; it is held, and Ana puts it right.
        id, prices = ben.ask()
        ben.tell(id, 1000 * shop(prices))
        ana.says("1 result is held")
        ana.press("Correct it", "#now")
        ana.fill("What was truly measured", str(shop(prices)))
        ana.fill("Reason", "the point was lost")
        ana.press("Correct", "dialog")
        ana.closed()
        ben.says("the point was lost")
        assert study.trial(id).value == shop(prices)
        assert study.trial(id).history[-1].who == "Ana"

        ana.press("Stop the study", "#manage")
        ana.says("permanently: this cannot be undone", "document.querySelector('dialog')")
        ana.fill("Reason", "June is over")
        ana.press("Stop permanently", "dialog")
        ben.says("stopped: June is over")
        ben.until("![...document.querySelectorAll('#now button')].some(one => one.textContent === 'Ask')")
        assert study.summary().stopped == "June is over"
        assert [
            alien for alien in requested(browser) if alien.startswith("http") and served[0] not in alien
        ] == []
        for window in people:
            assert complaints(window.driver) == []


def test_every_deed_says_what_it_will_do_and_can_be_undone(window, begin):
    study = begin(outliers=True)
    window.open(study.name)
    window.press("Ask")
    window.says("It uses one deployment of the budget: 0 of 40 are used", "document.querySelector('dialog')")
    window.press("Cancel", "dialog")
    assert study.trials() == []
    id, _ = window.ask()
    window.tell(id, 2.5)
    window.says(f"Trial {id} has the value 2.5", "document.getElementById('said')")
    window.press("Undo", "#said")
    window.says("was taken back", "document.getElementById('said')")
    assert study.trial(id).state == "voided"
    window.press("Tell", f"#trials tr[data-trial='{id}']")
    window.fill("Value", "3,5")
    window.press("Tell", "dialog")
    window.closed()
    assert study.trial(id).value == 3.5
    id, _ = window.ask()
    window.press("Failed", f"[data-trial='{id}']")
    window.says("Its point is asked again", "document.querySelector('dialog')")
    window.fill("Reason", "the shelf was empty")
    window.press("It failed", "dialog")
    window.closed()
    assert (study.trial(id).state, study.trial(id).reason) == ("failed", "the shelf was empty")
    while study.summary().spent < 14:
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    id, _ = window.ask()
    window.tell(id, 4000)
    window.press("It is true", "#now")
    window.press("It is true", "dialog")
    window.closed()
    window.says("counts", "document.getElementById('said')")
    assert study.trial(id).state == "complete"
    window.press("Undo", "#said")
    window.says("is as it was before", "document.getElementById('said')")
    assert [event.kind for event in study.trial(id).history] == ["held", "accepted", "doubted"]


def test_a_conflict_is_told_in_the_dialog_and_changes_nothing(window, begin):
    study = begin()
    window.open(study.name)
    id, _ = window.ask()
    window.press("Tell", f"[data-trial='{id}']")
    study.tell(id, 1.0)  # somebody else is quicker
    window.fill("Value", "2")
    window.press("Tell", "dialog")
    window.says(f"trial {id} was already told 1.0; it cannot also be 2.0", "document.querySelector('dialog')")
    window.press("Cancel", "dialog")
    assert study.trial(id).value == 1.0
    complaints(window.driver)  # the browser's own, of the status 409


NAMES = [
    "<img src=x onerror=\"document.title='broken'\">",
    "أسعار المتجر (الرياض)",
    "x" * 199,
    "a/../b?c#d&e=%2F",
    "{{7*7}}${8*8}<b>",
]


@pytest.mark.parametrize("name", NAMES, ids=["markup", "right to left", "long", "address", "template"])
def test_names_are_text_whatever_they_hold(window, begin, name):
    study = begin(name, names=["<script>alert(1)</script>", name])
    trial = study.ask(holder=name)
    study.fail(trial.id, name)
    study.ask(holder=name)
    window.open(name)
    assert window.run("return document.querySelector('h1').textContent") == name
    assert window.run("return document.querySelectorAll('main img, main script, main b b').length") == 0
    window.until("document.querySelectorAll('.panel .drawing').length")
    assert window.run("return document.querySelector('.panel + .panel h3').textContent") == name
    for width in (390, 1280):
        resize(window.driver, width, 900)
        assert window.run("return document.documentElement.scrollWidth") <= width
    window.press("Show", "#out")
    names = "[...document.querySelectorAll('dialog th bdi')].map(one => one.textContent)"
    assert window.until(f"document.querySelector('dialog') && {names}") == [
        "<script>alert(1)</script>",
        name,
    ]
    window.press("Close", "dialog")
    window.closed()
    window.run("location.hash = '#/'")
    window.until(
        "[...document.querySelectorAll('.study h2')].some(one => one.textContent === given[0])", name
    )
    assert window.run("return document.querySelectorAll('main img').length") == 0
    assert complaints(window.driver) == []


def test_the_token_is_taken_out_of_the_address_and_kept_for_the_window_alone(window, served):
    assert SECRET not in window.run("return location.href")
    assert window.run("return document.cookie + JSON.stringify(localStorage)").count(SECRET) == 0
    assert window.run("return Object.values(sessionStorage)") == [SECRET]
    assert not [address for address in requested(window.driver) if SECRET in address and "#" not in address]


def test_who_may_only_look_has_nothing_to_press(browser, served, begin):
    study = begin()
    study.ask(holder="Ana")
    looking = Window(browser, served[0], OTHERS["looker"][0])
    looking.open(study.name)
    looking.says("Trial")
    words = looking.run("return [...document.querySelectorAll('main button')].map(one => one.textContent)")
    assert set(words) <= {"Show", "Copy the recommendation", "Export csv", "Export json"}
    Window(browser, served[0])


def test_numbers_beside_the_charts_are_those_of_python(window, begin, served, server_time):
    study = begin(control_every=3, reserve=8)
    for _ in range(16):
        server_time[0] += DAY
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    window.open(study.name)
    window.until("document.querySelector('#values .drawing') && document.querySelector('#cost')")
    drawn = window.run("""
        const marks = kind => [...document.querySelectorAll(`#values .drawing svg.${kind}`)]
        return ["control", "method"].map(kind => marks(kind).map(one => Number(one.dataset.value)))
    """)
    start = [trial.value for trial in study.trials() if trial.kind == "control"]
    own = [trial.value for trial in study.trials() if trial.kind == "method"]
    assert drawn == [start, own]
    course = study.course()
    assert course.cost.total == pytest.approx(sum(own) - len(own) * sum(start) / len(start))
    found = window.run("return JSON.parse(document.querySelector('#decision [data-x]').dataset.x)")
    assert found == study.recommend().as_dict
    assert [one.recommended for one in course.coordinates] == list(found.values())
