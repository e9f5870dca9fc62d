"""Every code block of every page runs, top to bottom, in an empty folder (README: test_documents.py)."""

import contextlib
import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest

from driftopt.methods import registry
from support.code_blocks import NOT_RUN, Runner, blocks

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

# What a page takes as the reader's own.
TILL = f"""#!{sys.executable}
import json, sys
trial = json.load(open(sys.argv[1]))
print(json.dumps({{"id": trial["id"], "value": sum(trial["x"].values())}}))
"""
READERS_OWN = {"studies.md": {"read-till": TILL, "set-prices": "#!/bin/sh\n"}}


def with_free_port(page):
    """The page's text, in which the port of its server is one that is free here."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = page.read_text(encoding="utf-8")
    return (
        re.sub(r"(127\.0\.0\.1:|--port )8000\b", rf"\g<1>{port}", text) if "driftopt serve" in text else text
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name, text in READERS_OWN.get(page.name, {}).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setattr(
        registry, "_REGISTERED", dict(registry._REGISTERED)
    )  # what a page registers ends with it
    before = set(sys.modules)
    runner = Runner(tmp_path, ROOT / "src")
    try:
        for block in blocks(page, with_free_port(page)):
            runner.run(block)
    finally:
        if (started := tmp_path / "serve.pid").exists():  # a page whose server was not stopped on the page
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(started.read_text()), signal.SIGTERM)
        # What a page wrote and imported must not be found by the next.
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


# The runner itself: what is wrong on a page must fail.


def run(text, folder):
    runner = Runner(folder, ROOT / "src")
    for block in blocks(Path("page.md"), text):
        runner.run(block)
    return runner


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```",
        "```python\n>>> 1 + 1\n3\n\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
        "```console\n$ false\n```",
        "```console\n$ echo 1\n2\n```",
        "```console\n$ driftopt methods --unknown\n```",
        "```bash\nfalse | true\n```",
        "```toml\na = \n```",
        "```json\n{\n```",
        "```\nno language\n```",
        "```ruby\nputs 1\n```",
        "```python\nnever closed",
        f'```python title="{NOT_RUN}no"\n1 / 0\n```',
    ],
)
def test_a_wrong_block_fails(text, tmp_path):
    with pytest.raises((AssertionError, ZeroDivisionError, ValueError)):
        run(text, tmp_path)
