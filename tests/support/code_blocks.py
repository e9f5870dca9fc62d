"""The code blocks of a page: how each kind is run, and how the outputs on a page are written.

```python          run in the page's one namespace
```sh              run by bash; commands of driftopt run in this process, which has loaded its libraries
```text            directly below one of these: what it prints
```toml, json      must parse

A block with a file's name as its title (```toml title="kink.toml") is written into the page's folder instead.
An HTML comment above a block speaks to this runner alone:

<!-- not run: why -->     leaves the block out
<!-- numbers vary -->     above an output: its words are compared, its numbers are not

`python -m support.code_blocks PAGE…`, with src and tests on PYTHONPATH, writes outputs as they are now.
"""

import ast
import contextlib
import getpass
import io
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LANGUAGES = {"python", "text", "sh", "toml", "json", "javascript"}
WIDTH = 78  # columns of a block on the site
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*) *(?P<rest>[^`]*)$")
_NOT_RUN = re.compile(r"<!-- not run: (.{5,}?) -->")
_VARY = "<!-- numbers vary -->"
_NUMBER = re.compile(r"[-+−]?\d[\d.,:e]*(?:-\d+)*|\bnan\b")
_BARS = re.compile("[▁▂▃▄▅▆▇█░]+")

# What a page takes as the reader's own.
TILL = f"""#!{sys.executable}
import json, sys
trial = json.load(open(sys.argv[1]))
print(json.dumps({{"id": trial["id"], "value": sum(trial["x"].values())}}))
"""
READERS_OWN = {"read-till": TILL, "set-prices": "#!/bin/sh\n"}


@dataclass(frozen=True)
class Output:
    """What a page says that a block prints, and the lines between its fences."""

    text: str
    first: int
    last: int
    varies: bool


@dataclass(frozen=True)
class Block:
    """One fenced block: where it is, what it is, whether it is left out, and its output on the page."""

    page: Path
    line: int
    language: str
    title: str
    code: str
    not_run: bool
    output: Output | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """Every fenced block of a page, in order; a text block directly below one that runs is its output."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    found: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    end = 0
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if opened is None:
            opened = (number, fence) if fence else None
            continue
        if not (fence and not fence["language"] and not fence["rest"]):
            continue
        start, head = opened
        between = " ".join(lines[end : start - 1]).strip()
        title = re.search(r'title="([^"]*)"', head["rest"])
        code = textwrap.dedent("\n".join(lines[start : number - 1])) + "\n"
        runs = found and found[-1].language in ("python", "sh") and not found[-1].title
        if head["language"] == "text" and runs and between in ("", _VARY):
            output = Output(code, start, number - 1, between == _VARY)
            found[-1] = Block(**{**vars(found[-1]), "output": output})
        else:
            left_out = _NOT_RUN.search(between) is not None
            found.append(Block(page, start, head["language"], title[1] if title else "", code, left_out))
        opened, end = None, number
    assert opened is None, f"{page}:{opened and opened[0]}: this block is never closed"
    return found


def normal(text: str, varies: bool) -> str:
    """A text as it is compared: spaces between words are one, and numbers are #, where they may vary."""
    if varies:
        text = _BARS.sub("~", _NUMBER.sub("#", text))
        text = re.sub(r"─+", "─", text)
        text = re.sub(r"(?:less than a|#) \w+ ago", "# ago", text)
        text = re.sub(r"# (?:seconds?|minutes?)\b", "# s", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


class Runner:
    """Runs the blocks of one page, top to bottom, in a folder of its own."""

    def __init__(self, folder: Path, source: Path = ROOT / "src") -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        for name, text in READERS_OWN.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "examples").symlink_to(ROOT / "examples")
        scripts = Path(sys.executable).parent
        packages = folder / "site-packages"  # where `pip install` on a page puts things
        self.environment = {
            **os.environ,
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{source}{os.pathsep}{packages}{os.pathsep}{folder}",
            "PIP_TARGET": str(packages),
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this flag the other way round
            "PIP_QUIET": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def close(self) -> None:
        """Stop a server that the page started and did not stop."""
        if (started := self.folder / "serve.pid").exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(started.read_text()), signal.SIGTERM)

    def run(self, block: Block) -> str | None:
        """Do with a block what its kind asks for, and return what it printed, or None.

        Raises:
            AssertionError: The block cannot be run, or does not print what the page says.
        """
        assert block.language in LANGUAGES, (
            f"{block.place}: {block.language!r} is not one of {', '.join(sorted(LANGUAGES))}"
        )
        if block.not_run:
            return None
        if block.title:
            self.write(block)
            return None
        if block.language in ("python", "sh"):
            printed = getattr(self, block.language)(block)
            return printed.replace(f"{getpass.getuser()}@{socket.gethostname()}", "ana@shop").replace(
                str(self.port), "8000"
            )
        if block.language == "toml":
            tomllib.loads(block.code)
        elif block.language == "json":
            json.loads(block.code)
        return None

    def check(self, block: Block) -> None:
        """Run a block, and compare what it prints with what the page says."""
        printed = self.run(block)
        if block.output is None:
            return
        wanted = normal(block.output.text, block.output.varies)
        got = normal(printed or "", block.output.varies)
        assert got == wanted, f"{block.place} prints\n{printed}\nand the page says\n{block.output.text}"

    def code(self, block: Block) -> str:
        return re.sub(r"(127\.0\.0\.1:|--port )8000\b", rf"\g<1>{self.port}", block.code)

    def write(self, block: Block) -> None:
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.code(block), encoding="utf-8")
        path.chmod(0o755 if block.code.startswith("#!") else 0o644)

    def python(self, block: Block) -> str:
        """What a block prints; a last expression shows its value, as in a notebook."""
        printed = io.StringIO()
        tree = ast.parse("\n" * block.line + self.code(block), str(block.page))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, str(block.page), "exec"), self.names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), str(block.page), "eval"), self.names)
                if value is not None and block.output is not None:
                    print(repr(value))
        return printed.getvalue()

    def sh(self, block: Block) -> str:
        """What the commands print together."""
        code = self.code(block)
        lines = [line for line in re.sub(r"\\\n", " ", code).splitlines() if not line.startswith("#")]
        plain = not (self.folder / "site-packages").exists() and all(
            line.startswith("driftopt ") and not re.search(r"[|<&;$`*]|>.*>", re.sub("'[^']*'", "", line))
            for line in lines
        )
        return "".join(self.command(block, line) for line in lines) if plain else self.shell(block, code)

    def command(self, block: Block, line: str) -> str:
        """What a command of driftopt prints, run in this process."""
        from driftopt.cli import main

        command, _, file = line.partition(" > ")
        printed, complaints = io.StringIO(), io.StringIO()
        old, sys.argv = sys.argv, shlex.split(command, comments=True)
        code: Any = 0
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
                main()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            sys.argv = old
        assert code == 0, f"{block.place}: {line}\n{complaints.getvalue()}"
        if file:
            (self.folder / file.strip()).write_text(printed.getvalue(), encoding="utf-8")
            return ""
        return printed.getvalue()

    def shell(self, block: Block, command: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block.place}: {command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@contextlib.contextmanager
def at_work(folder: Path) -> Iterator[Runner]:
    """A runner in its folder, which can be imported from, with a terminal of a page's width."""
    before, path, columns = Path.cwd(), list(sys.path), os.environ.get("COLUMNS")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["COLUMNS"] = str(WIDTH)
    modules = set(sys.modules)
    runner = Runner(folder)
    try:
        yield runner
    finally:
        runner.close()
        os.chdir(before)
        sys.path[:] = path
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)
        for name in (
            set(sys.modules) - modules
        ):  # what a page wrote and imported must not be found by the next
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def refresh(page: Path) -> None:
    """Write into a page what its blocks print now."""
    lines = page.read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder, at_work(Path(folder)) as runner:
        for block in reversed([(block, runner.run(block)) for block in blocks(page)]):
            (block, printed), output = block, block[0].output
            if output is not None:
                lines[output.first : output.last] = (printed or "").strip("\n").rstrip().splitlines()
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    if text != page.read_text(encoding="utf-8"):
        page.write_text(text, encoding="utf-8")
        print(f"{page}: written")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name).resolve())
