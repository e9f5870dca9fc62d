"""A window of the service's page, as one person uses it."""

from unittest import mock

import pytest

from support.servers import SECRET, serving, settings


class Window:
    """A page that one person uses, with the keys and buttons that a person has."""

    def __init__(self, driver, address, secret=SECRET):
        self.driver, self.address = driver, address
        driver.get(f"{address}/#token={secret}")
        self.until("document.querySelector('h1')")

    def run(self, script, *given):
        return self.driver.execute_script(script, *given)

    def until(self, script, *given):
        """Wait in the browser, without a clock of ours, until something is so; returns what it is."""
        self.driver.set_script_timeout(120)
        watch = """
            const given = [...arguments], done = given.pop();
            const look = () => { try { return (() => { return SCRIPT; })(); } catch { return null; } };
            const found = look();
            if (found) { done(found); return; }
            const again = () => { const now = look(); if (now) { eye.disconnect(); done(now); } };
            const eye = new MutationObserver(again);
            eye.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
        """
        return self.driver.execute_async_script(watch.replace("SCRIPT", script), *given)

    def says(self, text, where="document.body"):
        return self.until(f"{where}.innerText.includes(given[0])", text)

    def open(self, name):
        self.run("location.hash = '#/study/' + encodeURIComponent(arguments[0])", name)
        self.until("document.querySelector('#now') && document.title.startsWith(given[0])", name)

    def press(self, text, inside="main"):
        """Press the button of that name, as soon as it is there."""
        self.until(
            "[...document.querySelectorAll(given[1] + ' button')]"
            ".filter(one => one.textContent === given[0] && !one.disabled && one.checkVisibility())"
            ".slice(0, 1).some(one => { one.click(); return true; })",
            text,
            inside,
        )

    def fill(self, label, value):
        """Write into the field of that label, as soon as it is there."""
        self.until(
            "[...document.querySelectorAll('label')].filter(one => one.textContent === given[0])"
            ".slice(0, 1).some(({ control }) => {"
            " control.value = given[1]; control.dispatchEvent(new Event('input')); return true; })",
            label,
            value,
        )

    def keys(self, keys):
        """Press keys, wherever the keyboard is."""
        self.driver.switch_to.active_element.send_keys(keys)

    def closed(self):
        """Wait until no dialog is open; what it complains of is an error here."""
        open = "document.querySelector('dialog')"
        said = self.until(f"!{open} ? 'closed' : {open}.querySelector('.wrong').textContent")
        assert said == "closed"

    def ask(self):
        """Ask through the page; returns the trial's number and its decision as it is to be deployed."""
        self.press("Ask")
        self.press("Ask", "dialog")
        title = self.until(
            "document.querySelector('dialog table') && document.querySelector('dialog h2').innerText"
        )
        cells = self.run("return [...document.querySelectorAll('dialog td b')].map(one => one.textContent)")
        self.press("Close", "dialog")
        self.closed()
        return int(title.split()[1].rstrip(":")), [float(cell.replace("−", "-")) for cell in cells]

    def tell(self, id, value):
        self.press("Tell", f"[data-trial='{id}']")
        self.fill("Value", str(value))
        self.press("Tell", "dialog")
        self.closed()


@pytest.fixture(scope="module")
def server_time():
    """The server's time, which tests move: [seconds]."""
    return [1.79e9]


@pytest.fixture(scope="module")
def served(tmp_path_factory, server_time):
    """A server whose clock the tests move: (its address, its database)."""
    database = tmp_path_factory.mktemp("page") / "shop.db"
    with (
        mock.patch("driftopt.service.events.LOOK_EVERY", 0.1),  # at what tests do beside the page
        serving(settings(database, clock=lambda: server_time[0])) as (address, _),
    ):
        yield address, database


@pytest.fixture
def window(browser, served):
    """The page, with a token that may do everything."""
    return Window(browser, served[0])


@pytest.fixture
def begin(served, server_time, request):
    """A study named after the test, made without the page."""

    from driftopt.study import Study
    from support.study_worlds import PLAIN

    def make(name=None, **more):
        return Study.create(
            served[1],
            name or request.node.name,
            **{"budget": 40} | PLAIN | more,
            clock=lambda: server_time[0],
        )

    return make
