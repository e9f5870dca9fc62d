"""One sweep from checked arguments to finished parts, wherever these are kept."""

import platform
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import driftopt
from driftopt import checks
from driftopt.method import Method
from driftopt.methods.grids import Grid
from driftopt.outside.contract import Outside, libraries_of
from driftopt.problem import Problem
from driftopt.runtime.forks import refuse_after_fork
from driftopt.sweep.arguments import check_grids, check_seeds, check_source, check_version
from driftopt.sweep.confirmation import confirm as confirm_sweep
from driftopt.sweep.confirmation import is_large
from driftopt.sweep.cutting import check_moving, cut, feasible
from driftopt.sweep.execution import execute
from driftopt.sweep.kept_parts import Arrays, Store
from driftopt.sweep.parts import Part, RunSettings, Simulated, Source
from driftopt.sweep.planning import plan
from driftopt.sweep.progress import SweepProgress
from driftopt.sweep.stored_runs import RowStore
from driftopt.sweep.workers import kept_division, wanted_parts, workers_of


@dataclass(frozen=True)
class SweepOutcome:
    """What became of a job."""

    pieces: Sequence[Part]
    found: Sequence[Arrays]
    store: Store
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class SweepJob:
    """What `run` and `stream` were given, checked."""

    grids: Sequence[Grid]
    source: Source
    settings: RunSettings
    seeds: Sequence[int]
    executor: Executor | None
    parts: int | None
    chosen: Mapping[tuple[str, str], int] | None

    @classmethod
    def check(
        cls,
        grids: Sequence[Grid | Method],
        problems: Sequence[Problem] | Source,
        names: Sequence[str] | None,
        *,
        budget: int,
        seeds: Sequence[int],
        x0: Any,
        evaluate_every: int | None,
        metrics: bool,
        executor: Executor | None,
        version: str | None,
        settle: int,
        parts: int | None,
        confirm: bool,
        chosen: Mapping[tuple[str, str], int] | None = None,
    ) -> "SweepJob":
        refuse_after_fork()
        source, metrics = check_source(problems, names), checks.flag("metrics", metrics)
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise ValueError(f"executor must be a concurrent.futures.Executor, got {checks.brief(executor)}")
        if metrics and isinstance(source, Simulated) and not source.problems[0].metric_names:
            raise ValueError(
                f"metrics=True needs a problem with metrics(x); {type(source.problems[0]).__name__} has none"
            )
        checked, some = check_grids(grids), check_seeds("seeds", seeds)
        start = None if x0 is None else tuple(checks.single_precision("x0", x0, source.dim).tolist())
        check_moving(checked, source, start)
        queries, held = checks.one_count("budget", budget), checks.shape("settle", settle)
        settings = RunSettings(queries, start, evaluate_every, metrics, held, check_version(version))
        wanted = None if parts is None else checks.one_count("parts", parts)
        if checks.flag("confirm", confirm):
            planned: dict[str, Any] = {"budget": budget, "seeds": some, "x0": x0, "settle": settle}
            planned |= {"evaluate_every": evaluate_every, "workers": workers_of(executor) or 1}
            ask_first(checked, source, **planned)
        return cls(checked, source, settings, some, executor, wanted, chosen)

    def divided(self, wanted: int | None) -> list[Part]:
        """The parts: as many as are wanted, or the fewest."""
        each = sum(len(one) if self.chosen is None else 1 for one in self.grids)
        whole = each * len(self.source.names) * len(self.seeds)
        most, pieces = None if wanted is None else max(1, whole // wanted), list[Part]()
        for one in self.grids:
            picked = (
                None if self.chosen is None else [self.chosen[one.label, name] for name in self.source.names]
            )
            pieces += cut(one, self.source, self.settings, self.seeds, picked, most)
        return pieces

    def carry_out(
        self, kind: type[Store], folder: str | Path | None, *, fresh: bool, progress: bool, title: str
    ) -> SweepOutcome:
        """Run every part that is not finished, and keep each in a store of this kind."""
        progress, fresh = checks.flag("progress", progress), checks.flag("fresh", fresh)
        pieces, crew = self.divided(self.parts), partial(workers_of, self.executor)
        expected = sum(part.queries for part in pieces)
        with SweepProgress(title, expected, show=progress, workers=crew) as shown:
            began, store = time.monotonic(), kind(folder, shown.note, fresh=fresh)
            if self.parts is None:
                wanted = wanted_parts(pieces, self.source, self.executor)
                wanted = kept_division(pieces, wanted, store, fresh=fresh)
                pieces = pieces if wanted is None else self.divided(wanted)
            if isinstance(store, RowStore):
                store.expect(self.grids, self.source, pieces)
            found, reused = execute(pieces, store, self.executor, shown)
            seconds = time.monotonic() - began
        manifest = describe(self.grids, self.source, self.settings, self.seeds) | {
            "queries_run_now": int(shown.done),
            "duration_s": round(seconds, 3),
            "parts": len(pieces),
            "parts_found_finished": reused,
        }
        return SweepOutcome(pieces, found, store, manifest)


def ask_first(grids: Sequence[Grid], source: Source, **planned: Any) -> None:
    """Return where the sweep is small or somebody says yes; a pilot is run only where much is counted."""
    counted = plan(grids, source, pilot=False, **planned)
    if is_large(counted):
        confirm_sweep(plan(grids, source, **planned), "leave out confirm=True to start it")


def describe(
    grids: Sequence[Grid], source: Source, settings: RunSettings, seeds: Sequence[int]
) -> dict[str, Any]:
    """What defines a sweep and on what it ran, for its manifest."""
    import jax

    built = [one.candidate(i) for one in grids for i in range(len(one))]
    return {
        "versions": {
            "driftopt": driftopt.__version__,
            "jax": jax.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            **libraries_of(one for one in built if isinstance(one, Outside)),
        },
        "machine": f"{platform.system()} {platform.machine()}",
        "devices": [f"{device.platform} {device.id}" for device in jax.local_devices()],
        "budget": settings.budget,
        "settle": settings.settle,
        "seeds": list(seeds),
        "data_checksums": source.checksums(),
        "grids": {one.label: [dict(c) for c in one.configurations] for one in grids},
        "infeasible": {
            one.label: [
                dict(one.configurations[i])
                for i in range(len(one))
                if not feasible(one.candidate(i), source.dim, settings.budget, settings.settle)
            ]
            for one in grids
        },
    }
