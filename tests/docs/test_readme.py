"""The README is short, its links lead somewhere, and what it shows comes out."""

import re
import tomllib
from pathlib import Path

import numpy as np

from support.code_blocks import Runner, blocks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short():
    assert len(README.splitlines()) < 100


def test_what_it_shows_comes_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = Runner(tmp_path, ROOT / "src")
    for block in blocks(ROOT / "README.md"):
        runner.run(block)
    assert np.abs(runner.names["result"].x - [1.0, 2.0]).max() < 0.4
    assert runner.names["trace"].fun.shape == (4, 5, 10)
    assert runner.names["study"].trials()[0].value == 12.5


def test_headlines_are_those_of_the_pages_that_explain_them():
    """One set of figures, here and on the site's first page; each stands where it is explained."""
    docs = ROOT / "docs"
    start, auto, speed = (docs / f"{page}.md" for page in ("index", "auto", "performance"))
    for figure, page in {r"\b42 of 60\b": auto, r"\b3,060\b": speed}.items():
        assert all(re.search(figure, text) for text in (README, start.read_text(), page.read_text())), figure


def test_kills_are_those_of_the_test():
    """The README counts them all, the page on reliability by database and by what the study did."""
    test = (ROOT / "tests" / "study" / "test_crash.py").read_text(encoding="utf-8")
    found = re.findall(r'param\("(\w+)", (\d+), .*id="([\w-]+)"', test)
    assert len(found) == 6
    kills = {name: int(count) for _, count, name in found}
    assert f"**{sum(kills.values())} kills** | of six live studies" in README
    on = {base: sum(int(count) for other, count, _ in found if other == base) for base, _, _ in found}
    special = sum(count for name, count in kills.items() if "-" in name)
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"{on['sqlite']} kills on SQLite, {on['postgres']} on PostgreSQL; {special} of them with" in page


def test_every_link_leads_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_on_a_package_index_every_link_leads_to_the_site_or_the_source():
    """The rules by which it is rewritten for the wheel; `make dist` looks at the wheel itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rules = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    text = README
    for rule in rules:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    urls = project["project"]["urls"]
    source = f"{urls['Source']}/blob/main/"
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 10
    for link in links:
        if link.startswith(urls["Documentation"]):
            page = link.removeprefix(urls["Documentation"]).removesuffix(".html")
            assert (ROOT / "docs" / (page if page.endswith(".png") else f"{page}.md")).exists(), link
        else:
            assert link.startswith(source), link
            assert (ROOT / link.removeprefix(source)).exists(), link


def test_the_tree_is_the_tree():
    """Every room of the package stands in the README's tree."""
    tree = re.search(r"```text\nsrc/driftopt/\n(.*?)```", README, flags=re.DOTALL)[1]
    rooms = {path.name for path in (ROOT / "src" / "driftopt").iterdir() if (path / "__init__.py").exists()}
    assert not [room for room in sorted(rooms) if f"{room}/" not in tree]
    assert not [room for room in re.findall(r"(\w+)/", tree) if room not in rooms]
