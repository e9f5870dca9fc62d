"""Mutation testing: change one operator or number, and see whether the tests of its room notice.

    python -m benchmarks.mutants --rooms stationarity methods --sample 40 --seed 0

Each mutant is a copy of the package with one change, run against the tests of its own room, the quick ones
first, until one fails ("killed") or all pass ("survived"). The tools that exist run the whole suite for every
mutant or keep a cache beside the source; here a mutant costs one short pytest run, chosen by room, and the
source is never touched.

A mutant that survives is either a test that is missing or a change that means nothing:
`benchmarks/explained_mutants.txt` holds the latter, one `file: before -> after  # reason` a line.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "driftopt"
# A room's files, and the tests that must notice: quick ones first.
ROOMS: dict[str, tuple[str, ...]] = {
    "stationarity": ("tests/stationarity", "src/driftopt/stationarity"),
    "averages.py": ("tests/drivers/test_averages.py", "src/driftopt/averages.py"),
    "space": ("tests/space", "src/driftopt/space", "tests/drivers/test_minimization.py"),
    "answers": ("tests/answers", "src/driftopt/answers"),
    "methods": ("tests/methods",),
    "drivers": ("tests/drivers",),
    "study": ("tests/study/test_conformance.py", "tests/study/test_replay.py", "tests/study/test_safety.py"),
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    path: Path
    line: int
    before: str
    after: str
    text: str  # the whole changed file

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}: {self.before} -> {self.after}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every single change of one file: operators, comparisons, numbers, conditions that are turned round."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for index, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            other = copy.deepcopy(tree)
            place = next(n for i, n in enumerate(ast.walk(other)) if i == index)
            before = ast.unparse(place)
            change(place)
            after = ast.unparse(place)
            if before != after:
                yield Mutant(path, getattr(node, "lineno", 0), before, after, ast.unparse(other))


def _changes(node: ast.AST) -> Iterator:
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield lambda n: setattr(n, "op", SWAPS[type(n.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield lambda n: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield lambda n: setattr(n, "value", n.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda n: setattr(n, "value", not n.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def killed(mutant: Mutant, tests: tuple[str, ...], limit: float) -> str | None:
    """The first test that fails, "time" where they take too long, or None where all pass."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        package = Path(folder) / "driftopt"
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / mutant.path.relative_to(SOURCE)).write_text(mutant.text, encoding="utf-8")
        # Doctests are those of the copy.
        chosen = [test.replace("src/driftopt", str(package)) for test in tests]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "--no-header",
            *chosen,
        ]
        paths = os.pathsep.join([folder, str(ROOT / "tests")])
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return "time"
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0][:120] if failed else "the tests could not run"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--sample", type=int, default=300, help="mutants in all, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=900, help="seconds for one mutant's tests")
    parser.add_argument("--out", type=Path, default=Path("results/mutants.jsonl"))
    given = parser.parse_args()
    pool = [(room, mutant) for room in given.rooms for path in _files(room) for mutant in mutants(path)]
    drawn = random.Random(given.seed).sample(pool, min(given.sample, len(pool)))
    explained = _explained()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    counts = {"killed": 0, "explained": 0, "survived": 0}
    with given.out.open("a", encoding="utf-8") as log:
        for room, mutant in drawn:
            by = killed(mutant, ROOMS[room], given.limit)
            key = f"{mutant.path.relative_to(SOURCE)}: {mutant.before} -> {mutant.after}"
            fate = "killed" if by else "explained" if key in explained else "survived"
            counts[fate] += 1
            print(f"{fate:9} {mutant}" + (f"   [{by}]" if by else ""), flush=True)
            log.write(json.dumps({"room": room, "mutant": str(mutant), "fate": fate, "by": by}) + "\n")
            log.flush()
    print(f"{len(pool)} mutants are possible, {len(drawn)} were tried: {counts}")
    return int(counts["survived"] > 0)


def _files(room: str) -> list[Path]:
    place = SOURCE / room
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _explained() -> set[str]:
    path = ROOT / "benchmarks" / "explained_mutants.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line.partition("  #")[0].strip() for line in lines if line and not line.startswith("#")}


if __name__ == "__main__":
    sys.exit(main())
