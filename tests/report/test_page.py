"""The report in a real browser: tables there, curves drawn and alive, nothing fetched from the network."""

import pytest

from support import paper_runs
from support.browser import complaints, requested, resize


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory):
    return paper_runs.reproduce(tmp_path_factory.mktemp("report"), only="strategic")


@pytest.fixture
def shown(browser, report):
    """The report as it was opened, whatever the test before did to it."""
    browser.get((report.folder / "report.html").as_uri())
    return browser


def count(shown, css: str) -> int:
    return shown.execute_script("return document.querySelectorAll(arguments[0]).length", css)


def test_tables_are_there_with_our_numbers_and_the_papers(shown, report):
    assert count(shown, "#strategic table") == 4
    body = shown.execute_script("return document.body.innerText")
    result = report.summaries[0].results["103", "train_loss", "zo-og"]
    assert f"{result.mean:.4f} ± {result.deviation:.4f}" in body
    assert "in the paper" in body
    assert "0.7467 ± 0.0547" in body
    assert "Selected configurations" in body
    assert count(shown, "#strategic .strip circle") == 4 * 3 * 5


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
    shown.execute_script("document.querySelectorAll('#strategic button.mode')[0].click()")


def test_nothing_is_fetched_and_nothing_fails(shown):
    assert shown.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert complaints(shown) == []
    assert not [address for address in requested(shown) if address.startswith("http")]


DRAG = """
    const picture = document.querySelector('#strategic .panel svg'), frame = picture.getBoundingClientRect();
    const at = (kind, share) => picture.dispatchEvent(new PointerEvent(kind, {
        pointerType: 'mouse', clientX: frame.left + share * frame.width, clientY: frame.top + 99 }));
    at('pointerdown', .5); at('pointermove', .6); at('pointermove', .8); at('pointerup', .8);
"""
TICKS = """
    return [...document.querySelectorAll('#strategic .panel')].map(panel =>
        [...panel.querySelectorAll('text[text-anchor=middle]:not(.name)')].map(text => text.textContent))
"""


def test_dragging_zooms_all_panels_and_a_button_goes_back(shown):
    whole = shown.execute_script(TICKS)
    shown.execute_script(DRAG)
    zoomed = shown.execute_script(TICKS)
    assert all("0" in ticks for ticks in whole)
    assert zoomed != whole
    assert all(ticks == zoomed[0] and "0" not in ticks for ticks in zoomed)
    paths = shown.execute_script(
        "return [...document.querySelectorAll('path.curve')].map(c => c.getAttribute('d'))"
    )
    assert not [path for path in paths if "NaN" in path or "Infinity" in path]
    back = (
        "[...document.querySelectorAll('#strategic button.mode')].find(b => b.textContent == 'whole range')"
    )
    assert shown.execute_script(f"return {back}.checkVisibility()")
    shown.execute_script(f"{back}.click()")
    assert shown.execute_script(TICKS) == whole
    assert not shown.execute_script(f"return {back}.checkVisibility()")


SIZES = """
    const size = element => parseFloat(getComputedStyle(element).fontSize)
        * (element.ownerSVGElement ? element.getBoundingClientRect().height / element.getBBox().height : 1);
    return [...document.querySelectorAll('.panel text')].map(size);
"""


@pytest.fixture
def at_width(browser):
    """The page at another width, as a phone or a screen shows it."""

    def change(width: int) -> None:
        resize(browser, width, 900)
        # A frame for the observers of sizes, and one for what they draw.
        browser.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[0], 0)))"
        )

    yield change
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(
    ("width", "columns"), [(390, 1), (1280, 2), (2560, 4)], ids=["phone", "laptop", "wall"]
)
def test_it_fits_every_screen_and_its_text_has_one_size(shown, at_width, width, columns):
    at_width(width)
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width
    assert len({round(size, 1) for size in shown.execute_script(SIZES)}) == 1
    assert shown.execute_script(SIZES)[0] == pytest.approx(12, abs=0.5)
    lefts = "return new Set([...document.querySelectorAll('#strategic .panel')].map(p => p.offsetLeft)).size"
    assert shown.execute_script(lefts) == columns
    width_of_panels = shown.execute_script("return document.querySelector('.panels').clientWidth")
    drawn = shown.execute_script(
        "return [...document.querySelectorAll('.panel svg')].map(s => s.clientWidth)"
    )
    assert max(drawn) <= width_of_panels
