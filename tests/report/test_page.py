"""The report in a real browser: tables there, curves drawn and alive, nothing fetched from the network."""

import re
import shutil

import numpy as np
import pytest

from driftopt.report import page as pages
from support import paper_runs

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory):
    return paper_runs.reproduce(tmp_path_factory.mktemp("report"), only="strategic")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(
            "no Chromium with its driver on this machine (Debian: apt-get install chromium chromium-driver)"
        )
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1200,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def shown(browser, made):
    browser.get((made.folder / "report.html").as_uri())
    return browser


def count(shown, css: str) -> int:
    return shown.execute_script("return document.querySelectorAll(arguments[0]).length", css)


def test_the_page_refers_to_nothing_outside_itself(made):
    text = (made.folder / "report.html").read_text()
    outside = set(re.findall(r"(?:https?:)?//[\w.-]+", text)) - {"http://www.w3.org"}  # the name of SVG
    assert not {address for address in outside if "." in address}
    assert not re.search(r"<(?:img|iframe|script|link)[^>]+(?:src|href)=\"(?!data:)", text)
    assert "@import" not in text
    assert "url(" not in text.replace("url(#", "")


def test_tables_are_there_with_our_numbers_and_the_papers(shown, made):
    assert count(shown, "#strategic table") == 4
    body = shown.execute_script("return document.body.innerText")
    cell = made.summaries[0].cells["103", "train_loss", "zo-og"]
    assert f"{cell.mean:.4f} ± {cell.deviation:.4f}" in body
    assert "in the paper" in body
    assert "0.7467 ± 0.0547" in body
    assert "Selected configurations" in body
    assert count(shown, "#strategic .strip circle") == 4 * 3 * 4


def test_curves_are_drawn(shown):
    assert count(shown, "#strategic .panel svg") == 4
    assert count(shown, "#strategic path.curve") == 4 * 3
    points = shown.execute_script(
        "return [...document.querySelectorAll('path.curve')]"
        ".map(curve => curve.getAttribute('d').split(/[ML]/).length)"
    )
    assert min(points) > 3
    sizes = shown.execute_script("return document.querySelector('path.curve').getBoundingClientRect().width")
    assert sizes > 100


def test_names_toggle_curves_axes_switch_and_hovering_tells_values(shown):
    toggle = "document.querySelector('#strategic button.key').click()"
    shown.execute_script(toggle)
    assert count(shown, "#strategic path.curve") == 4 * 2
    shown.execute_script(toggle)
    assert count(shown, "#strategic path.curve") == 4 * 3
    before = shown.execute_script("return document.querySelector('path.curve').getAttribute('d')")
    shown.execute_script("document.querySelectorAll('#strategic button.mode')[0].click()")
    after = shown.execute_script("return document.querySelector('path.curve').getAttribute('d')")
    assert before != after
    assert "NaN" not in after
    tip = shown.execute_script("""
        const picture = document.querySelector('#strategic .panel svg');
        const frame = picture.getBoundingClientRect();
        picture.dispatchEvent(new PointerEvent('pointermove',
            { clientX: frame.left + frame.width / 2, clientY: frame.top + frame.height / 2, bubbles: true }));
        return document.querySelector('#strategic .tip').innerText;
    """)
    assert "queries" in tip
    assert "ZO-O2NC (Option I)" in tip
    assert "±" in tip


def test_nothing_is_fetched_and_nothing_fails(shown):
    assert shown.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert [entry for entry in shown.get_log("browser") if entry["level"] == "SEVERE"] == []
    requests = [e["message"] for e in shown.get_log("performance") if "requestWillBeSent" in e["message"]]
    addresses = {
        url for m in requests for url in re.findall(r'"documentURL":"([^"]+)"|"url":"(http[^"]+)"', m)
    }
    assert not [url for pair in addresses for url in pair if url.startswith("http")]


def test_it_fits_a_phone(shown):
    shown.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
    )
    try:
        width = shown.execute_script("return document.documentElement.scrollWidth")
    finally:
        shown.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 390


def test_text_in_the_data_cannot_break_out_of_the_page():
    evil = "</script><b>x"
    series = pages.Series(evil, np.array([0, 1]), np.array([1.0, np.nan]), np.zeros(2), np.ones(2))
    panel = pages.Panel(evil, [series], None, (0.0, 1.0))
    section = pages.Section("s", evil, evil, [panel], evil, 1, [pages.HtmlTable(evil, [evil], [])])
    text = pages.render(
        pages.Page(evil, evil, [(evil, "")], [(evil, True, evil)], [section], {evil: (evil, "#000")}, [])
    )
    assert evil not in text
    assert "NaN" not in text.split('id="charts">')[1].split("</script>")[0]
