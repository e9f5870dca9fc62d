"""The README shows; what it shows runs, top to bottom, in an empty folder."""

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_every_python_block_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert np.abs(names["result"].x - [1.0, 2.0]).max() < 0.4
    assert "±" in capsys.readouterr().out
    assert names["trace"].fun.shape == (4, 5, 10)
    assert names["study"].trials()[0].value == 12.5


def test_every_linked_page_exists():
    root = Path(__file__).parents[2]
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (root / link).exists(), link
