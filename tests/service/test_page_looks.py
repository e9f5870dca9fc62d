"""The service's page for every reader: day and night, by keyboard, read aloud, on a phone and on a wall."""

import pytest

from driftopt.study import Study
from support.browser import resize
from support.study_worlds import bowl

DAY = 86400.0


@pytest.fixture
def running(begin, server_time):
    """A study with answers, one of them corrected, one out and one held."""
    study = begin(control_every=4, reserve=4, outliers=True)
    for _ in range(14):
        server_time[0] += DAY
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    study.correct(trial.id, 1.5, "counted twice", who="Ana")
    study.tell(study.ask().id, 4000.0)
    study.ask(holder="Ben")
    return study


CONTRAST = """
    const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
        .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const ground = one => {
        for (let at = one; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (!colour.endsWith(', 0)')) return colour;
        }
    };
    const ratio = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const text = 'p, small, td, th, li div, b, dt, dd, button, a, h1, h2, h3, .badge';
    return [...document.querySelectorAll(text)]
        .filter(one => one.checkVisibility() && !one.closest('.drawing'))
        .map(one => [ratio(light(getComputedStyle(one).color), light(ground(one))), one.outerHTML])
        .sort((a, b) => a[0] - b[0])[0];
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_by_day_and_by_night(window, running, dark):
    resize(window.driver, 1280, 900, dark=dark)
    window.open(running.name)
    window.until("document.querySelector('#decision table') && document.querySelector('.need')")
    least, where = window.run(CONTRAST)
    assert least >= 4.5, where  # WCAG's AA


def test_the_keyboard_is_enough_and_stays_where_it_is(window, begin):
    study = begin()
    window.open(study.name)
    window.until("document.querySelector('#decision table')")
    window.run("document.querySelector('[data-focus=ask]').focus()")
    trial = study.ask(holder="somebody else")  # the page is drawn anew, around the keyboard
    window.says("somebody else", "document.querySelector('#out')")
    assert window.run("return document.activeElement.dataset.focus") == "ask"
    window.keys("\ue007")  # enter
    window.until("document.querySelector('dialog')?.contains(document.activeElement)")
    window.keys("\ue00c")  # escape
    window.until("!document.querySelector('dialog')")
    assert [one.id for one in study.trials()] == [trial.id]
    window.run(f"document.querySelector('[data-focus=tell-{trial.id}]').focus()")
    window.keys("\ue007")
    window.until("document.activeElement?.name === 'value'")
    window.keys("2.5\ue007")
    window.says(f"Trial {trial.id} has the value 2.5", "document.getElementById('said')")
    assert study.trial(trial.id).value == 2.5
    assert window.run("return document.getElementById('said').getAttribute('aria-live')") == "polite"


TABLES = {
    "tea,2.5\noil,9.9": [["tea", 2.5, None, None, None], ["oil", 9.9, None, None, None]],
    'Product;Price;Min;Max\n"tea; green";2,50;2;3,2\n': [["tea; green", 2.5, 2, 3.2, None]],
    "\ufeffname\tvalue\tstep\r\ntea\t1 234.5\t0.05\r\n": [["tea", 1234.5, None, None, 0.05]],
    'value,name\n−3,"a ""b"""': [['a "b"', -3, None, None, None]],
    "": "the table is empty",
    "name,value": "below its first line the table is empty",
    "name,low\ntea,1": "line 1: the columns name and value are needed",
    "tea,2.5\ntea,2.6": "line 2: tea is in line 1 already",
    "tea,two": "line 1, value: “two” is not a number",
    "name,value\ntea,2,50": "line 2: it has 3 cells for 2 columns; write 2.50 with a point",
    "name,value,\ntea,2,50": "line 2: it has 3 cells for 2 columns",
    "name,value\ntea,2.5,,": [["tea", 2.5, None, None, None]],
    "tea,2,50\noil,9,90": "line 1: 2,50 may be one number or two; write a first line of titles",
    "tea,12,05": "12.05 with a point",
    "staff,5,3,8,1": "line 1: 5,3 may be one number or two",
    "name,value,low,high,step\nstaff,5,3,8,1": [["staff", 5, 3, 8, 1]],
    "tea,2.5,2\nstaff,5,3": [["tea", 2.5, 2, None, None], ["staff", 5, 3, None, None]],
    "tea;2,50;2": [["tea", 2.5, 2, None, None]],
    "name,value,low\ntea,2,50": "line 2: low, 50, is above the value of tea, 2",
    "tea;2;1;1,5": "line 1: high, 1.5, is below the value of tea, 2",
    "tea,": "line 1: the value of tea is missing",
    ",1": "line 1: the name is missing",
    "tea,1e999": "is not a number",
    '"tea,1': "a quotation mark is not closed",
}


@pytest.mark.parametrize("table", TABLES, ids=range(len(TABLES)))
def test_tables_of_prices_are_read_or_refused_with_their_line(window, table):
    found = window.driver.execute_async_script(
        """
        const [table, done] = arguments;
        const row = ({ name, value, low, high, step }) => [name, value, low, high, step];
        import('/page/csv.js').then(({ prices }) => done(prices(table).map(row)))
            .catch(error => done(error.message));
        """,
        table,
    )
    expected = TABLES[table]
    if isinstance(expected, str):
        assert expected in found
    else:
        assert found == expected


def test_a_study_of_the_wizard_is_the_one_that_python_makes(window, served):
    window.run("location.hash = '#/new'")
    window.fill("Name", "from a table")
    window.fill(
        "A table: name and value, and where wanted low, high and step", "tea,2.5,2,3.2,0.05\n7,9.9,,12,"
    )
    window.press("Begin the study")
    window.says("Values should be large or small: please choose.")  # nothing is guessed
    window.fill("Values should be", "maximize")
    window.fill("Deployments in all", "60")
    window.fill("Kept for confirming", "8")
    window.press("Begin the study")
    window.says("Nothing was asked yet.")
    spec = Study.open(served[1], "from a table").spec
    assert (spec.names, spec.x0, spec.bounds) == (["tea", "7"], [2.5, 9.9], [[2.0, 3.2], [None, 12.0]])
    assert (spec.direction, spec.budget, spec.reserve, spec.control_every) == ("maximize", 60, 8, 5)
    assert (spec.lease, spec.method) == (7 * DAY, "model")
