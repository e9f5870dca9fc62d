"""Wrong but plausible arguments at every entry, counted: `python -m benchmarks.fuzz --calls 10000`."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # much is compiled, little computed
os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(prefix="driftopt-fuzz-"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from rich.console import Console
from rich.table import Table

from support.fuzz import Count, fuzz, shut_off
from support.fuzz_entries import entries


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--calls", type=int, default=10_000, help="over all entries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="words in the names of entries")
    parser.add_argument("--show", type=int, default=20, help="failures to print for each entry")
    options = parser.parse_args()
    counts: dict[str, Count] = {}
    with tempfile.TemporaryDirectory() as place, shut_off(Path(place)) as folder:
        known = entries(folder)
        chosen = [name for name in known if not options.only or any(word in name for word in options.only)]
        for number, name in enumerate(chosen):
            share = options.calls * (number + 1) // len(chosen) - options.calls * number // len(chosen)
            counts[name] = fuzz(known[name], share, options.seed)
            for failure in list(dict.fromkeys(counts[name].failures))[: options.show]:
                print(f"{name}: {failure}", flush=True)
    table = Table("entry", "calls", "refused", "worked", "failures")
    rows = {**counts, "all": _sum(list(counts.values()))}
    for name, count in rows.items():
        worked = count.calls - count.refused - len(count.failures)
        table.add_row(name, *map(str, (count.calls, count.refused, worked, len(count.failures))))
    Console().print(table)
    sys.exit(bool(rows["all"].failures))


def _sum(counts: list[Count]) -> Count:
    return Count(
        sum(c.calls for c in counts), sum(c.refused for c in counts), [f for c in counts for f in c.failures]
    )


if __name__ == "__main__":
    main()
