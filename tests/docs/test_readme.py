"""The README is short, its links lead somewhere, and what it shows comes out."""

import re
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
