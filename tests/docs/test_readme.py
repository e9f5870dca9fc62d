"""The README is short, its links lead somewhere, and what it shows comes out."""

import re
import tomllib
from pathlib import Path

import numpy as np

from support.code_blocks import Runner, blocks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_it_shows_comes_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = Runner(tmp_path, ROOT / "src")
    for block in blocks(ROOT / "README.md"):
        runner.run(block)
    assert np.abs(runner.names["result"].x - [1.0, 2.0]).max() < 0.4
    assert runner.names["trace"].fun.shape == (4, 5, 10)
    assert runner.names["study"].trials()[0].value == 12.5


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
