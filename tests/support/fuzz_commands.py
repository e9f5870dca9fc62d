"""Every command in this process, with options that are wrong, left out or unknown."""

import contextlib
import io
import itertools
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from driftopt.cli import main
from support.fuzz import Entry
from support.fuzz_numbers_and_studies import begin
from support.fuzz_values import JSON, LEFT_OUT, word

CODES = (0, 1, 2, 3, 4, 5)  # as `driftopt study` documents them


BOX = str.maketrans(dict.fromkeys("╭─╮│╰╯", " "))


class Refused(ValueError):
    """A command ended with a sentence and an exit code."""


class Enough(Exception):
    """All arguments were taken: what follows is long and not in question."""


def command(words: str, positional: tuple[str, ...] = (), stdin: str = "") -> Callable[..., None]:
    """A function of its arguments: positional ones in order, all others as --options."""

    def call(**given: Any) -> None:
        line = words.split()
        line += [str(given[name]) for name in positional if given.get(name, LEFT_OUT) is not LEFT_OUT]
        for name, value in given.items():
            if name in positional or value is LEFT_OUT:
                continue
            option = f"--{name.replace('_', '-')}"
            line += [option] if value is True else [option, str(value)]
        run(line, given.get("stdin", stdin))

    return call


def run(line: list[str], stdin: str = "") -> None:
    """The command as `driftopt` runs it; a refusal is its sentence as an error."""
    said = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["driftopt", *line]),
        mock.patch.object(sys, "stdin", io.StringIO(stdin)),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
        except Enough:
            return
        except SystemExit as stop:
            code = stop.code or 0
            if code not in CODES or "Traceback" in said.getvalue():
                raise RuntimeError(f"exit code {code}: {said.getvalue()}") from None
            if code:
                raise Refused(" ".join(said.getvalue().translate(BOX).split())) from None


def commands(folder: Path) -> dict[str, Entry]:
    """Every command of `driftopt`."""
    constants = {
        "dim": 12,
        "lipschitz": 1,
        "noise": 0.5,
        "gap": 1,
        "epsilon": 0.1,
        "delta": 0.5,
        "option": "I",
    }
    (folder / "compare.toml").write_text(
        'problem = "kink"\nproblem_options = {dim = 2}\nbudget = 20\ndevelopment = 1\nheld_out = 2\n'
        "[methods.zo-sph]\nradius = 0.5\nstep = 0.01\n"
    )
    (folder / "token.txt").write_text("a-secret-that-nobody-has-but-this-test")
    (folder / "token.txt").chmod(0o600)
    return {
        "driftopt": Entry(command("", ("command",)), lambda: {"command": "methods"}, _also("command"), word),
        "driftopt methods": _with(command("methods", ("extra",)), {"extra": LEFT_OUT}, "Unused"),
        "driftopt problems": _with(
            command("problems", ("extra",)), {"extra": LEFT_OUT, "json": LEFT_OUT}, "Unused"
        ),
        "driftopt plan": _with(command("plan"), {**constants, "compare": True}),
        "driftopt data": _with(command("data", ("command",)), {"command": "list"}, "command"),
        "driftopt data fetch": _with(
            command("data fetch", ("data",)), {"data": "prices", "from": folder / "copy"}
        ),
        "driftopt demo": _with(_demo, {"out": "demo.png", "seed": 0}),
        "driftopt reproduce": _with(
            _reproduce,
            {
                "out": folder / "reproduced",
                "quick": True,
                "only": LEFT_OUT,
                "splits": "101",
                "weeks": "2022-08",
                "methods": "zo-sph",
                "seeds": 2,
                "development": 1,
                "budget": 40,
                "data": "stand-in",
            },
        ),
        "driftopt compare": _with(
            command("compare", ("file",)),
            {"file": folder / "compare.toml", "out": folder / "compared", "allow_module": LEFT_OUT},
        ),
        "driftopt serve": _with(
            _serve,
            {
                "database": folder / "served.db",
                "host": "127.0.0.1",
                "port": 0,
                "token_file": folder / "token.txt",
                "certfile": LEFT_OUT,
                "keyfile": LEFT_OUT,
                "behind_proxy": True,
                "proxy_address": "10.0.0.1",
                "allow_host": "shop.example",
                "allow_origin": "https://shop.example",
                "log_requests": True,
            },
            "url",
            "listen",
            "folder",
            "needs",
            "secret",
            "token file",
        ),
        **study_commands(folder),
    }


def study_commands(folder: Path) -> dict[str, Entry]:
    first, fresh = folder / "shell.db", itertools.count()
    begin(first)

    def place() -> dict[str, Any]:
        path = folder / f"shell{next(fresh)}.db"
        shutil.copy(first, path)
        return {"url": path, "name": "a"}

    def on(words: str, *positional: str, **options: Any) -> Entry:
        call = command(f"study {words}", ("url", "name", *positional))
        also = _WHERE | _also(*options) | {"path": ("folder", "write", "Unused")}
        also["id"] = (*also.get("id", ()), "trial")
        return Entry(call, lambda: {**place(), "json": LEFT_OUT, **options}, also, word)

    def answers(**given: Any) -> None:
        text = json.dumps(given["answers"])
        run(["study", "tell", str(given["url"]), str(given["name"]), "--json"], text)

    def created(**given: Any) -> None:
        path, options = folder / f"json{next(fresh)}.db", given["options"]
        run(["study", "create", str(path), "a", "--json"], json.dumps(options))

    options = {
        "x0": "1,2",
        "budget": 40,
        "radius": 0.5,
        "names": "a,b",
        "method": "zo-o2nc-2pt",
        "param": "step=0.1",
        "bounds": "-9:9",
        "direction": "minimize",
        "rng": 0,
        "parallel": 1,
        "lease_days": 1,
        "max_failures": 3,
        "tolerance": 0.1,
        "max_change": 3,
        "control_every": 5,
        "reserve": 4,
        "guard": 60,
        "settle": 1,
        "grid": "0.5",
    }
    answer = {"id": 6, "value": 1.0, "sem": 0.1}
    plain = {"x0": [1.0, 2.0], "budget": 40, "radius": 0.5, "params": {}, "method": "auto"}
    return {
        "driftopt study": Entry(
            command("study", ("command",)), lambda: {"command": "--help"}, _also("command"), word
        ),
        "driftopt study create": Entry(
            command("study create", ("url", "name")),
            lambda: {"url": folder / f"new-shell{next(fresh)}.db", "name": "a", **options},
            _WHERE | _also(*options) | {"param": ("step", "params", "parameter"), "lease_days": ("lease",)},
            word,
        ),
        "driftopt study create --json": Entry(
            created, lambda: {"options": plain}, {"options": ("JSON", *plain)}, _in_json
        ),
        "driftopt study ask": on("ask", count=2, purpose="confirm", holder="me"),
        "driftopt study tell": on("tell", "id", "value", id=6, value=1.5, sem=0.1, x_deployed=LEFT_OUT),
        "driftopt study tell --json": Entry(
            answers,
            lambda: {**place(), "answers": [answer]},
            _WHERE | {"answers": ("answer", "trial", *answer)},
            _in_json,
        ),
        "driftopt study fail": on("fail", "id", "reason", id=6, reason="rain", who="me"),
        "driftopt study correct": on(
            "correct", "id", "value", id=1, value=2.5, reason="typed", sem=0.1, who="me"
        ),
        "driftopt study void": on("void", "id", id=1, reason="a holiday", who="me"),
        "driftopt study accept": on("accept", "id", id=1, reason="a fair", who="me"),
        "driftopt study hold": on("hold", "id", id=1, reason="a fair", who="me"),
        "driftopt study verify": on("verify"),
        "driftopt study show": on("show"),
        "driftopt study recommend": on("recommend"),
        "driftopt study stationarity": on("stationarity", confidence=0.9, value_range="0:9"),
        "driftopt study export": on("export", "path", path=folder / "shell.csv"),
        "driftopt study plot": on("plot", "path", path=folder / "shell.png"),
        "driftopt study page": on("page", "path", path=folder / "shell.html"),
    }


_WHERE = {  # an address is named by what it shows; `--json` in place of a word comes twice
    "url": ("database", "folder", "file", "studies", "Unknown", "requires", "multiple"),
    "name": ("study", "Unknown", "ID", "multiple"),
    "json": ("Unused", "Unknown", "multiple"),
}


def _also(*names: str) -> dict[str, tuple[str, ...]]:
    """An option is --so-named; with the wrong number of words, cyclopts names the word that is left."""
    more = ("Unused", "Unknown", "requires", "missing")
    return {name: (name.replace("_", "-"), name.replace("_", " "), name.rstrip("s"), *more) for name in names}


def _with(call: Callable[..., None], good: dict[str, Any], *more: str) -> Entry:
    also = {name: (*words, *more) for name, words in _also(*good).items()}
    return Entry(call, lambda: good, also, word)


def _in_json(good: Any) -> st.SearchStrategy[Any]:
    """What stands on standard input."""
    if not isinstance(good, dict | list):
        return word(good)
    inner = good[0] if isinstance(good, list) else good
    changed = st.sampled_from(sorted(inner)).flatmap(
        lambda key: st.sampled_from([*range(-1, 3), None, True, "a", [3], {}, 1e300]).map(
            lambda value: {**inner, key: value}
        )
    )
    less = st.sampled_from(sorted(inner)).map(lambda key: {k: v for k, v in inner.items() if k != key})
    each = changed | less | JSON
    return each | st.lists(each, max_size=3) if isinstance(good, list) else each


def _demo(**given: Any) -> None:
    quick = {"METHODS": ("zo-sph",), "BUDGET": 40, "DEVELOPMENT": 1, "SCORED": 2}
    with mock.patch.multiple("driftopt.cli.demo_runs", **quick):
        command("demo")(**given)


def _reproduce(**given: Any) -> None:
    """Up to the moment when it would run, and search beside it for the best that is known."""
    stop = mock.Mock(side_effect=Enough)
    with mock.patch.multiple("driftopt.paper.reproduction", run=stop, best_known=stop):
        command("reproduce")(**given)


def _serve(**given: Any) -> None:
    """Up to the moment when it would serve."""
    environment = {key: value for key, value in os.environ.items() if key != "DRIFTOPT_TOKEN"}
    with (
        mock.patch("driftopt.service.server.Server.run", side_effect=Enough),
        mock.patch.dict(os.environ, environment, clear=True),
    ):
        command("serve", ("database",))(**given)
