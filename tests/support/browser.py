"""A headless Chromium for the tests that look at pages as a reader does."""

import json
import shutil
from contextlib import contextmanager

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1000",
)


@contextmanager
def chromium(folder):
    """Selenium's driver, logging what the page says and fetches; skipped where there is no browser."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(
            "no Chromium with its driver on this machine (Debian: apt-get install chromium chromium-driver)"
        )
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def only_browser(tmp_path_factory):
    """One for all tests: to start it takes seconds."""
    with chromium(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture(scope="module")
def browser(only_browser):
    """A browser for all tests of a module, as if it had just been started."""
    only_browser.get("about:blank")
    only_browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    only_browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    only_browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    for log in ("browser", "performance"):
        only_browser.get_log(log)
    return only_browser


def resize(browser, width, height, *, dark=False):
    """A window of that size, for a reader who prefers light or dark colours."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def requested(browser):
    """The addresses asked for since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }


def complaints(browser):
    """What the console reported as severe since the last call."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
