"""Every code block of every page runs, top to bottom, in an empty folder."""

from pathlib import Path

import pytest

from driftopt.methods import registry
from support.code_blocks import ROOT, at_work, blocks

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page, tmp_path, monkeypatch):
    monkeypatch.setattr(
        registry, "_REGISTERED", dict(registry._REGISTERED)
    )  # what a page registers ends with it
    with at_work(tmp_path) as runner:
        for block in blocks(page):
            runner.check(block)


def run(text, folder):
    with at_work(folder) as runner:
        for block in blocks(Path("page.md"), text):
            runner.check(block)


# The runner itself: what is wrong on a page must fail.


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```",
        "```python\n1 + 1\n```\n\n```text\n3\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
        "```python\nprint('no 1')\n```\n\n<!-- numbers vary -->\n\n```text\nnot 2\n```",
        "```sh\nfalse\n```",
        "```sh\necho 1\n```\n\n```text\n2\n```",
        "```sh\ndriftopt methods --unknown\n```",
        "```sh\nfalse | true\n```",
        "```toml\na = \n```",
        "```json\n{\n```",
        "```\nno language\n```",
        "```ruby\nputs 1\n```",
        "```python\nnever closed",
        "<!-- not run: no -->\n\n```python\n1 / 0\n```",
    ],
)
def test_a_wrong_block_fails(text, tmp_path):
    with pytest.raises((AssertionError, ZeroDivisionError, ValueError)):
        run(text, tmp_path)
