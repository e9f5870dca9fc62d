"""The service's page where something is wrong: a server that is away, a token, an address, a damaged log."""

import pytest

from driftopt.study import Study
from support.browser import complaints
from support.servers import SECRET, serving, settings
from support.study_worlds import PLAIN
from support.windows import Window

AWAY = """
    const [status, times] = arguments, real = window.fetch, later = window.setTimeout;
    window.setTimeout = (act, wait, ...more) => later(act, Math.min(wait, 20), ...more);
    const said = status === 503 ? '{"detail": "the database refused"}' : '<h1>Bad Gateway</h1>';
    let left = times;
    window.fetch = async (...given) => left-- > 0 ? new Response(said, { status }) : real(...given);
    const place = document.getElementById('trouble');
    window.troubles = [];
    new MutationObserver(() => window.troubles.push(place.innerText)).observe(place, { childList: true });
"""
TROUBLE = "window.troubles.some(one => one.includes('tries again by itself'))"


@pytest.mark.parametrize("status", [429, 502, 503])
def test_what_passes_is_waited_for_and_the_page_goes_on_by_itself(window, begin, status):
    """At the first look at a study, while one is followed, and in the list."""
    study = begin(f"away {status}")
    window.run("location.hash = '#/new'")
    window.until("document.querySelector('.wizard')")
    window.run(AWAY, status, 12)
    window.run("location.hash = '#/study/' + encodeURIComponent(arguments[0])", study.name)
    window.says("Nothing was asked yet.")
    window.says("The server answers again.", "document.getElementById('said')")
    assert window.until(TROUBLE)
    window.says("Follows the study")
    window.run(AWAY, status, 6)
    study.ask(holder="somebody else")
    window.says("somebody else", "document.querySelector('#out')")
    window.until(f"document.getElementById('trouble').hidden && {TROUBLE}")
    window.run(AWAY, status, 6)
    window.run("location.hash = '#/'")
    window.until(f"document.querySelector('.study dd') && {TROUBLE}")
    window.until("document.getElementById('trouble').hidden")
    assert window.run("return document.querySelectorAll('.study .badge.warn').length") == 0
    window.driver.refresh()  # with its own fetch again


def test_the_page_says_when_the_server_is_gone_and_comes_back_by_itself(browser, tmp_path):
    told = settings(tmp_path / "gone.db")
    study = Study.create(told.url, "gone", budget=12, **PLAIN)
    with serving(told) as (address, _):
        window = Window(browser, address)
        window.open("gone")
        window.says("Follows the study")
    window.until("!document.getElementById('trouble').hidden")
    assert "The server does not answer" in window.run("return document.getElementById('trouble').innerText")
    assert window.run("return document.querySelector('h1').textContent") == "gone"
    port = int(address.rsplit(":", 1)[1])
    study.ask(holder="somebody else")
    with serving(told, port=port):
        window.says("somebody else", "document.querySelector('#out')")
        window.until("document.getElementById('trouble').hidden")
    complaints(browser)


def test_a_wrong_token_is_refused_with_a_field_for_a_right_one(window):
    window.run("sessionStorage.clear(); location.hash = '#/nowhere'")
    window.says("A token is needed")
    window.fill("Token", "no-such-token-is-known-here")
    window.press("Come in")
    window.says("this token is not known")
    window.fill("Token", SECRET)
    window.press("Come in")
    window.run("location.hash = '#/new'")  # where nothing is fetched
    window.until("document.querySelector('.wizard')")
    window.run(
        "sessionStorage.setItem('driftopt-token', 'of-a-server-that-was-before'); location.hash = '#/x'"
    )
    window.says("this token is not known")  # it is asked for, whatever was being done
    window.fill("Token", SECRET)
    window.press("Come in")
    window.until("document.querySelector('h1')?.textContent === 'Studies' && document.querySelector('.lead')")
    complaints(window.driver)  # the browser's own, of the status 401
