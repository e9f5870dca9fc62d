"""The code blocks of a page, and how each kind is run.

```python          run in the page's one namespace; with `>>>` prompts its output is compared, as doctest does
```text            directly below a python block: what that block prints
```console         lines after `$ ` are run by bash; the lines below, where there are any, are what is printed
```bash            the whole block is run by bash
```toml, json      must parse

A block with a file's name as its title (```toml title="kink.toml") is written into the page's folder instead.
"not run in the tests: …" as a title, which readers see, leaves a block out. "..." in expected output skips.
"""

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOT_RUN = "not run in the tests: "
LANGUAGES = {"python", "text", "console", "bash", "toml", "json", "javascript"}
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*) *(?P<rest>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it is, what it is, and the text block directly below it, if any."""

    page: Path
    line: int
    language: str
    title: str
    code: str
    below: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def left_out(self) -> str | None:
        """Why it is not run, or None."""
        return self.title.removeprefix(NOT_RUN) if self.title.startswith(NOT_RUN) else None

    @property
    def file_name(self) -> str | None:
        return self.title if self.title and self.left_out is None else None


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """Every fenced block of a page, in order."""
    lines = (page.read_text(encoding="utf-8") if text is None else text).splitlines()
    found: list[Block] = []
    opened: tuple[int, re.Match[str]] | None = None
    last_end = -2
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line)
        if opened is None:
            opened = (number, fence) if fence else None
            continue
        if not (fence and not fence["language"] and not fence["rest"]):
            continue
        start, head = opened
        title = re.search(r'title="([^"]*)"', head["rest"])
        code = textwrap.dedent("\n".join(lines[start : number - 1])) + "\n"
        adjacent = not "".join(lines[last_end : start - 1]).strip() if last_end > 0 else False
        if head["language"] == "text" and adjacent and found and found[-1].language == "python":
            above = found.pop()
            found.append(Block(above.page, above.line, above.language, above.title, above.code, code))
        else:
            found.append(Block(page, start, head["language"], title[1] if title else "", code))
        opened, last_end = None, number
    assert opened is None, f"{page}:{opened and opened[0]}: this block is never closed"
    return found


def compare(block: Block, wanted: str, got: str, what: str) -> None:
    """An error that shows both texts where they differ."""
    checker = doctest.OutputChecker()
    if not checker.check_output(wanted, got, _FLAGS):
        shown = checker.output_difference(doctest.Example(what, wanted), got, _FLAGS)
        raise AssertionError(f"{block.place}: {what}\n{shown}")


class Runner:
    """Runs the blocks of one page, top to bottom, in a folder of its own."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        scripts = Path(sys.executable).parent
        packages = folder / "site-packages"  # where `pip install` on a page puts things
        self.environment = {
            **os.environ,
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{source}{os.pathsep}{packages}{os.pathsep}{folder}",
            "COLUMNS": "100",
            "PIP_TARGET": str(packages),
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this flag the other way round
            "PIP_QUIET": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, block: Block) -> None:
        """Do with a block what its kind asks for."""
        assert block.language in LANGUAGES, (
            f"{block.place}: say what this block is, one of {', '.join(sorted(LANGUAGES))}; got "
            f"{block.language!r}. Code that cannot run gets the title {NOT_RUN}and the reason"
        )
        if block.left_out is not None:
            assert len(block.left_out) > 10, f"{block.place}: say why it is not run"
        elif block.file_name is not None:
            self.write(block)
        elif block.language != "text":
            getattr(self, block.language)(block)

    def write(self, block: Block) -> None:
        path = self.folder / block.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        path.chmod(0o755 if block.code.startswith("#!") else 0o644)

    def python(self, block: Block) -> None:
        if re.match(r">>> ", block.code):
            return self.prompts(block)
        printed = io.StringIO()
        code = compile("\n" * block.line + block.code, str(block.page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, self.names)
        if block.below is not None:
            compare(block, block.below, printed.getvalue(), "this block should print")
        return None

    def prompts(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.code, self.names, str(block.page), str(block.page), block.line
        )
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False)
        result = runner.run(test, out=said.append, clear_globs=False)
        self.names = test.globs
        assert not result.failed, "".join(said)

    def console(self, block: Block) -> None:
        assert block.code.startswith("$ "), (
            f"{block.place}: a console block begins with a command, after `$ `"
        )
        for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
            command, _, wanted = re.match(r"((?:.*\\\n)*.*)(\n)((?:.*\n?)*)", part).groups()
            printed = self.command(block, command)
            if wanted.strip():
                compare(block, wanted, printed, command)

    def command(self, block: Block, command: str) -> str:
        """What a command prints. driftopt runs in this process, which has JAX, where no shell is needed."""
        plain = re.sub(r"\\\n|  # .*", " ", command)
        plain, file = re.fullmatch(r"(.*?)(?: > ([\w./-]+)\s*)?", plain, flags=re.DOTALL).groups()
        if (
            not plain.startswith("driftopt ")
            or re.search(r"[|<>&;$`*]", plain)
            or (self.folder / "site-packages").exists()
        ):
            return self.shell(block, command)
        from driftopt.cli import main

        printed, complaints = io.StringIO(), io.StringIO()
        old, sys.argv = sys.argv, shlex.split(plain)
        code: Any = 0
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
                main()
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            sys.argv = old
        assert code == 0, f"{block.place}: {command}\n{complaints.getvalue()}"
        if file:
            (self.folder / file).write_text(printed.getvalue(), encoding="utf-8")
            return ""
        return printed.getvalue()

    def bash(self, block: Block) -> None:
        self.shell(block, block.code)

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

    def toml(self, block: Block) -> None:
        tomllib.loads(block.code)

    def json(self, block: Block) -> None:
        json.loads(block.code)
