"""All runs of the benchmark, and where each one is kept."""

import json
import time
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import driftopt
from benchmarks.live import optimisers, shop_runs
from benchmarks.live.instances import instances
from benchmarks.live.shops import DAYS, shops

FEWER = 10  # seeds of the model in the small tables
FOLDER = Path("results/live")
RADII = {"radius × 1/8": 0.125, "× 1/4": 0.25, "× 1": 1.0, "× 4": 4.0, "none": None}
WRONG = {"× 100": lambda v: 100 * v, "−999999": lambda v: -999_999.0, "999999": lambda v: 999_999.0}
PLACES = (1, 2, 11, 61)
SHOCKED = ("model", "walk", "CMA-ES, adapted (cmaes)")
LOSSES = {"model": None, "max_loss=0.1": 0.1}


Row = tuple[str, str, str, int, tuple[int, ...]]


class Job(NamedTuple):
    """One run."""

    which: str  # the set of instances
    table: str
    instance: str
    label: str
    seed: int
    budgets: tuple[int, ...]

    @property
    def file(self) -> Path:
        """Where it is kept, with the other seeds."""
        edition = _hash(str(Path(__file__).with_name(f"{self.which}.py")))
        source = "" if self.label in optimisers.RIVALS else f"; {_source(self.label)}"
        name = f"{self.table}; {self.instance}; {self.label}{source}.json"
        return FOLDER / f"{self.which}-{edition}" / name.replace(" ", "_").replace("/", "÷")

    @property
    def kept(self) -> bool:
        """Whether there is nothing to run."""
        record = read(self.file).get(str(self.seed))
        return record is not None and {str(budget) for budget in self.budgets} <= record["budgets"].keys()


@cache
def _hash(*files: str) -> str:
    return sha256(b"".join(Path(file).read_bytes() for file in files)).hexdigest()[:8]


@cache
def _source(label: str) -> str:
    """The source that the decisions of the walk or of the model follow from."""
    parts = ("methods/walk.py",) if label == "walk" else ("model/*.py", "space/*.py")
    files = [file for part in parts for file in Path(driftopt.__file__).parent.glob(part)]
    return _hash(*sorted(map(str, files)))


def read(file: Path) -> dict[str, Any]:
    """The records of all seeds."""
    return json.loads(file.read_text()) if file.exists() else {}


def jobs(which: str, chosen: Iterable[str], budgets: tuple[int, ...], seeds: int) -> list[Job]:
    """All runs, those of every instance before the next seed's."""
    few = min(seeds, FEWER)
    found: list[Job] = []
    for table, instance, label, runs, marks in plan(which, budgets, seeds, few):
        if table in chosen and marks:
            found += [Job(which, table, instance, label, seed, marks) for seed in range(runs)]
    return sorted(found, key=lambda job: job.seed)


def plan(which: str, budgets: tuple[int, ...], seeds: int, few: int) -> Iterator[Row]:
    """Every row: its table, instance, label, number of runs and budgets."""
    for name, instance in instances(which).items():
        yield "main", name, "model", seeds, budgets
        yield "main", name, "walk", seeds, budgets
        for label, rival in optimisers.RIVALS.items():
            paid = tuple(budget for budget in budgets if budget <= rival.most)
            yield "main", name, label, min(seeds, rival.seeds), paid
        yield from (("radius", name, label, few, (120,)) for label in RADII)
        if instance.priced:
            yield "wrong", name, "none", few, (128,)
            for label in WRONG:
                for place in PLACES:
                    yield "wrong", name, f"{label} at {place}", few, (128,)
                    yield "wrong", name, f"{label} at {place}, checked", few, (128,)
            yield from (("loss", name, label, few, (120,)) for label in LOSSES)
        if instance.shock is not None:
            yield from (("shock", name, label, seeds, (400,)) for label in SHOCKED)
    for label in (*shop_runs.VIEWS, "walk", *shop_runs.OTHERS):
        yield "shop", "shop", label, min(seeds, len(shops(which))), (DAYS,)


def measure(job: Job) -> dict[str, Any]:
    """Run it: for each budget the share left, the mean share paid and the worst deployment."""
    began = time.process_time()
    if job.table == "shop":
        shop = shops(job.which)[job.seed]
        if job.label in shop_runs.VIEWS:
            record = shop_runs.with_model(shop, job.seed, shop_runs.VIEWS[job.label])
        else:
            record = shop_runs.with_rival(shop, job.seed, job.label)
        return {**record, "budgets": {str(DAYS): []}, "seconds": time.process_time() - began}
    instance = instances(job.which)[job.instance]
    if job.label == "walk":
        looks, paths = optimisers.walk(instance, job.seed, job.budgets)
    elif job.label in optimisers.RIVALS:
        looks, paths = optimisers.rival(job.label, instance, job.seed, job.budgets)
    else:
        more: dict[str, Any] = {}
        if job.table == "radius":
            more = {"factor": RADII[job.label]}
        elif job.table == "wrong" and job.label != "none":
            kind, _, place = job.label.removesuffix(", checked").partition(" at ")
            more = {"wrong": (int(place), WRONG[kind]), "checked": job.label.endswith("checked")}
        elif job.table == "loss":
            more = {"max_loss": LOSSES[job.label]}
        looks, paths = optimisers.model(instance, job.seed, job.budgets, **more)
    start, best = instance.ends()
    return {
        "budgets": {
            str(budget): [
                instance.share(x, budget),
                sum(paths[budget]) / len(paths[budget]) if paths[budget] else 1.0,
                max(paths[budget], default=1.0),
            ]
            for budget, x in looks.items()
        },
        "path": [float(f"{share:.4g}") for share in paths[max(looks)]]
        if job.table in ("shock", "loss")
        else [],
        "gap": (start - best) / abs(start),
        "seconds": time.process_time() - began,
    }


def keep(job: Job, record: dict[str, Any]) -> None:
    """Add it to its file."""
    job.file.parent.mkdir(parents=True, exist_ok=True)
    records = read(job.file) | {str(job.seed): record}
    part = job.file.with_suffix(".part")
    part.write_text(json.dumps(records))
    part.replace(job.file)
