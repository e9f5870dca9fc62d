"""The documentation site builds, holds every public name, loads nothing from the network, and can be read."""

import doctest
import functools
import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import driftopt
from support.browser import complaints, requested, resize
from support.code_blocks import blocks

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "docs" / "hooks"
LOOKED_AT = (
    "index",
    "gallery/index",
    "methods",
    "benchmarks",
    "reference/study",
    "reference/cli",
    "guides/units",
)


def hook(name):
    if str(HOOKS) not in sys.path:  # they import each other
        sys.path.append(str(HOOKS))
    spec = importlib.util.spec_from_file_location(name, HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(folder, root=ROOT):
    """What `make docs` runs. (With --quiet mkdocs would count no warnings, and nothing would be strict.)"""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site):
    """The site on a port of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<img srcset="//cdn.example/x.png 2x">',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<style>@import "https://fonts.example/css";</style>',
        '<p style="background: url(https://cdn.example/x.png)">',
    ],
)
def test_a_planted_remote_asset_is_found(page, tmp_path):
    (tmp_path / "index.html").write_text(f'<a href="https://example.org">a link is none</a>{page}')
    assert len(hook("check_site").remote_assets(tmp_path)) == 1


def test_links_of_the_page_for_missing_addresses_lead_somewhere(site, tmp_path):
    check = hook("check_site")
    assert check.lost_links(site) == []
    address = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"]
    assert f"<loc>{address}index.html</loc>" in (site / "sitemap.xml").read_text()
    (tmp_path / "index.html").touch()
    links = (f"{urlsplit(address).path}index.html", "/index.html", "index.html")
    (tmp_path / "404.html").write_text("".join(f'<a href="{link}"></a>' for link in links))
    (tmp_path / "sitemap.xml").write_text(f"<loc>{address}index.html</loc>")
    assert check.lost_links(tmp_path) == ["/index.html", "index.html"]


@pytest.mark.parametrize("name", ["docstrings", "field_comments", "gallery"])
def test_the_examples_of_the_hooks_come_out(name):
    assert doctest.testmod(hook(name))[0] == 0


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples" / "gallery").glob("*.py")), ids=lambda path: path.stem
)
def test_pages_and_notebooks_of_the_gallery_are_those_of_their_scripts(script):
    written = [text for kind, text in hook("gallery").cells(script.read_text()) if kind == "code"]
    page = ROOT / "docs" / "gallery" / f"{script.stem}.md"
    assert [block.code.strip() for block in blocks(page) if block.language == "python"] == written
    notebook = json.loads(script.with_suffix(".ipynb").read_text())["cells"]
    assert ["".join(cell["source"]) for cell in notebook if cell["cell_type"] == "code"] == written


def test_every_public_name_has_an_entry(site):
    shown = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    names = [name for name in driftopt.__all__ if name != "__version__"]
    missing = [name for name in names if f'id="driftopt.{name}"' not in shown]
    modules = [name for name in missing if type(getattr(driftopt, name)) is type(os)]
    assert missing == modules  # which have pages of their own


def test_a_broken_link_stops_the_build(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[nowhere](nowhere.md)")
    (tmp_path / "mkdocs.yml").write_text("site_name: a\nplugins: []\n")
    done = build(tmp_path / "site", tmp_path)
    assert done.returncode != 0
    assert "nowhere.md" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("width", "height", "dark"), [(390, 844, False), (1366, 768, False), (1366, 768, True)]
)
def test_pages_can_be_read_on_a_phone_a_laptop_and_in_the_dark(browser, address, width, height, dark):
    resize(browser, width, height, dark=dark)
    browser.get(f"{address}/index.html")
    browser.execute_script("localStorage.clear()")  # a colour chosen before
    for page in LOOKED_AT:
        browser.get(f"{address}/{page}.html")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page
        scheme = browser.execute_script("return document.body.dataset.mdColorScheme")
        assert scheme == ("slate" if dark else "default"), page
        outside = [url for url in requested(browser) if re.match(r"https?:", url) and address not in url]
        assert not outside, page
        assert not complaints(browser), page


def test_pages_opened_as_files_can_be_searched(browser, site):
    from selenium.webdriver.support.ui import WebDriverWait  # there, if the browser is

    resize(browser, 1366, 768)
    browser.get(f"{site.as_uri()}/index.html")
    complaints(browser)
    browser.find_element("css selector", "[data-md-component=search-query]").send_keys("reflected")
    found = "return document.querySelectorAll('.md-search-result__item').length"
    WebDriverWait(browser, 30).until(lambda one: one.execute_script(found) > 0)
