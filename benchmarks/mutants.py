"""Mutation testing: change one operator, number or condition, and see whether the tests of its room notice.

    python -m benchmarks.mutants --sample 75 --seed 0 --jobs 2

Each mutant is a copy of the package with one change (`changed_lines.py`), run against the tests of its own
room (`room_tests.py`) that run the changed line, the quick ones first, until one fails ("killed") or a
minute's worth have passed ("survived"). Which test runs which line is measured once. Changes are drawn among
the lines that tests of the room run at all; how many changes are elsewhere is printed.

What is judged is written to a file at once, and the same command goes on where it stopped. `--again` judges
the survivors once more, after tests were written: these first, then all that run a line of the changed file.

A mutant that survives is either a test that is missing or a change that means nothing:
`explained_mutants.txt` holds the latter, each with its reason.
"""

import argparse
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.changed_lines import Mutant, mutants
from benchmarks.room_tests import SOURCE, Trial, load_libraries, run_all

ROOMS = ("methods", "drivers", "stationarity", "study")
# Processes that are killed, servers that restart, other users: minutes of work, or more than a fork can do.
LEFT_OUT = frozenset({"test_crash.py", "test_swarm.py", "test_trouble.py", "postgres"})
AT_LEAST, PATIENCE = 6, 60.0  # tests, and seconds as they were measured, for a first judgement
EXPLAINED = Path(__file__).with_name("explained_mutants.txt")
Measured = dict[str, dict[str, Any]]  # of each test the seconds and the lines; "" is what importing runs


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), help="folders of the package")
    parser.add_argument("--only", nargs="+", default=[""], help="files whose path contains one of these")
    parser.add_argument("--sample", type=int, default=75, help="mutants a room, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="judge the survivors once more")
    parser.add_argument("--out", type=Path, default=Path("results/mutants"), help="a folder")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    load_libraries((given.out / "compiled").absolute())
    survivors = 0
    for room in given.rooms:
        survivors += _judge_room(room, given)
    return int(survivors > 0)


def _judge_room(room: str, given: argparse.Namespace) -> int:
    """The number of survivors that nothing explains, among all that were ever judged."""
    record = given.out / f"{room}.jsonl"
    measured, fates, explained = _measured(room, given.out), _fates(record), _explained()
    if given.again:
        todo = [m for m in _possible(room, given) if fates.get(m.name) == "survived"]
        todo = [mutant for mutant in todo if mutant.name not in explained]
    else:
        todo = [m for m in _drawn(room, given, measured) if m.name not in fates]
    print(f"{room}: {len(fates)} mutants were judged before, {len(todo)} follow", flush=True)
    trials = ((mutant, _trial(room, measured, mutant, given.again)) for mutant in todo)
    with record.open("a", encoding="utf-8") as log:
        for mutant, outcome in run_all(trials, given.jobs):
            fates[mutant.name] = fate = "killed" if outcome["failed"] else "survived"
            by = f"   [{outcome['failed']}]" if outcome["failed"] else ""
            print(f"{outcome['seconds']:5.0f} s {fate:8} {mutant.name}{by}", flush=True)
            log.write(json.dumps({"mutant": mutant.name, "fate": fate, **outcome}) + "\n")
            log.flush()
    counts = Counter("explained" if name in explained else fate for name, fate in fates.items())
    print(f"{room}: " + ", ".join(f"{number} {fate}" for fate, number in sorted(counts.items())), flush=True)
    return counts["survived"]


def _trial(room: str, measured: Measured, mutant: Mutant, again: bool) -> Trial:
    """The quickest tests that run the line; at the second time all that run its file, and new ones."""
    nearness = {name: _nearness(test, mutant) for name, test in measured.items() if name}
    # What only importing runs may matter to any test.
    farthest = max(min(nearness.values()), 1) if again or 0 not in nearness.values() else 0
    chosen = sorted(
        (name for name in nearness if nearness[name] <= farthest),
        key=lambda name: (nearness[name], measured[name]["seconds"]),
    )
    if not again:
        until = np.cumsum([measured[name]["seconds"] for name in chosen]).searchsorted(PATIENCE)
        chosen = chosen[: max(AT_LEAST, int(until))]
    return Trial(
        _tests(room) if again else tuple({name.partition("::")[0]: None for name in chosen}),
        {_short(mutant.path): mutant.text()},
        {name: rank for rank, name in enumerate(chosen)},
        LEFT_OUT,
        frozenset(nearness) - frozenset(chosen),
        # Seconds after which the change has made something endless.
        limit=60 + 4 * sum(measured[name]["seconds"] for name in chosen),
    )


def _tests(room: str) -> tuple[str, ...]:
    """The tests of a room, and its doctests."""
    return f"tests/{room}", f"src/driftopt/{room}"


def _measured(room: str, out: Path) -> Measured:
    """Which test runs which lines, measured once and kept; all must pass without any change.

    That a changed file has lost its comments and layout as well is noticed by no test: mutants survive.
    """
    kept = out / f"{room}-lines.json"
    if not kept.exists():
        [(_, found)] = run_all([(None, Trial(_tests(room), left_out=LEFT_OUT, measured=True))], 1)
        if found["failed"]:
            raise SystemExit(f"{room}: {found['failed']} fails without any change\n{found.get('output', '')}")
        kept.write_text(json.dumps(found["tests"]), encoding="utf-8")
        print(f"{room}: {len(found['tests'])} tests, {found['seconds']:.0f} s", flush=True)
    return json.loads(kept.read_text(encoding="utf-8"))


def _possible(room: str, given: argparse.Namespace) -> list[Mutant]:
    files = [path for path in _files(room) if any(part in _short(path) for part in given.only)]
    return [mutant for path in files for mutant in mutants(path, SOURCE)]


def _drawn(room: str, given: argparse.Namespace, measured: Measured) -> list[Mutant]:
    """The sample, among the mutants on lines that a test runs."""
    possible = _possible(room, given)
    random.Random(f"{given.seed} {room}").shuffle(possible)
    reached = [mutant for mutant in possible if any(_runs(test, mutant) for test in measured.values())]
    print(f"{room}: {len(possible)} mutants are possible, {len(reached)} of them on lines that tests run")
    return reached[: given.sample]


def _nearness(test: dict[str, Any], mutant: Mutant) -> int:
    """0 for a test that runs the line, 1 for one that runs the file, 2 for others."""
    return 0 if _runs(test, mutant) else 1 if _short(mutant.path) in test["lines"] else 2


def _runs(test: dict[str, Any], mutant: Mutant) -> bool:
    first, last = mutant.lines
    return any(first <= line <= last for line in test["lines"].get(_short(mutant.path), ()))


def _short(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def _files(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py"))


def _fates(record: Path) -> dict[str, str]:
    """The last word on each mutant."""
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return {one["mutant"]: one["fate"] for one in map(json.loads, lines)}


def _explained() -> set[str]:
    lines = EXPLAINED.read_text(encoding="utf-8").splitlines() if EXPLAINED.exists() else []
    return {line.partition("  #")[0].strip() for line in lines if line and not line.startswith("#")}


if __name__ == "__main__":
    sys.exit(main())
