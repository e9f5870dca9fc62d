"""The live default against its rivals, on instances that its makers have not seen.

    python -m benchmarks.live                                 runs what is missing, prints all tables
    python -m benchmarks.live --development                   the same on the development instances
    python -m benchmarks.live --tables main --only model      one optimiser's runs
    python -m benchmarks.live --budgets 30 60 --seeds 5       fewer deployments, fewer seeds
    python -m benchmarks.live --kept --write docs/live.md     runs nothing, writes the tables into a page

Each run is kept in results/live as soon as it is done, so a benchmark that was stopped goes on. Runs of the
model are kept by its source: another model runs again.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from benchmarks.live import runs, tables

BUDGETS = (30, 60, 120, 300, 1000)
SEEDS = 20
BEGIN, END = "<!-- benchmarks/live writes from here -->", "<!-- to here -->"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--development", action="store_true", help="the instances that do not count")
    parser.add_argument("--tables", nargs="+", choices=tables.TABLES, default=list(tables.TABLES))
    parser.add_argument("--only", metavar="NAME", help="run optimisers whose names contain this")
    parser.add_argument("--instance", metavar="NAME", help="run instances whose names contain this")
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="at most so many of each")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--kept", action="store_true", help="run nothing")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="write the tables into a page")
    chosen = parser.parse_args()
    which = "development" if chosen.development else "validation"
    everything = [
        job
        for job in runs.jobs(which, chosen.tables, tuple(sorted(chosen.budgets)), chosen.seeds)
        if (chosen.only is None or chosen.only in job.label)
        and (chosen.instance is None or chosen.instance in job.instance)
    ]
    missing = [] if chosen.kept else [job for job in everything if not job.kept]
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # one core a process
        os.environ[threads] = "1"
    with ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(runs.measure, job): job for job in missing}
        for count, future in enumerate(as_completed(running), 1):
            job = running[future]
            if error := future.exception():
                print(f"{job.table}, {job.instance}, {job.label}, seed {job.seed}: {error!r}", flush=True)
            else:
                runs.keep(job, future.result())
            if count % 100 == 0 or count == len(missing):
                print(f"{count} of {len(missing)} runs", flush=True)
    text = tables.report(everything, runs.read)
    print(text)
    if chosen.write:
        page = chosen.write.read_text() if chosen.write.exists() else ""
        before, _, rest = page.partition(BEGIN)
        chosen.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2] or chr(10)}")


if __name__ == "__main__":
    main()
