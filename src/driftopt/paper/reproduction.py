"""`driftopt reproduce`: both experiments from data to report, in a folder that survives interruption."""

import json
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftopt import checks, sweep
from driftopt.packages import require_report_packages
from driftopt.paper import protocol
from driftopt.paper.best_known import best_known
from driftopt.paper.files import draw, write
from driftopt.paper.findings import findings
from driftopt.paper.protocol import Experiment
from driftopt.paper.scope import Scope
from driftopt.paper.summary import PaperSummary, summarise
from driftopt.report.page import Finding
from driftopt.runtime.files import make_folder
from driftopt.runtime.jax_settings import cores
from driftopt.sweep import Tuned
from driftopt.sweep.cutting import check_affordable
from driftopt.sweep.results import writing

EXPERIMENTS = ("strategic", "pricing")
THREADS = 2, 8  # least and most: while one computes, others compile; each takes memory


@dataclass(frozen=True)
class Reproduction:
    """The results of a reproduction and their folder."""

    folder: Path
    summaries: tuple[PaperSummary, ...]
    findings: dict[str, list[Finding]]
    manifest: dict[str, Any]


def reproduce(
    out: str | Path,
    *,
    scope: Scope = protocol.FULL,
    only: str | None = None,
    splits: Sequence[str] | None = None,
    weeks: Sequence[str] | None = None,
    data: str = "auto",
    fresh: bool = False,
    executor: Executor | None = None,
    progress: bool = True,
    say: Callable[[str], None] = lambda _: None,
    command: str = "driftopt.paper.reproduction.reproduce",
) -> Reproduction:
    """Run the paper's protocol and write tables, figures and the report into `out`.

    Started again with the same folder it continues from the finished parts.

    Args:
        scope: all of the protocol, the quick version, or a part; every output names it.
        only: one of the two experiments.
        splits: the instances of classification; by default the paper's four.
        weeks: the instances of pricing; by default the protocol's four.
        data: "auto" (real data if it is there or can be fetched), "real" or "stand-in" (synthetic).
        fresh: compute every part again, whatever the folder holds.
        executor: runs the parts; by default a thread for each core, two to eight.
        say: receives a sentence now and then.
        command: the command that the outputs name.
    """
    require_report_packages("reproduce")
    began = time.monotonic()
    folder = Path(out)
    experiments = _experiments(only, scope, splits, weeks, data)
    protocol_name = "quick" if experiments[0].quick else "full"
    if changes := list(dict.fromkeys(change for e in experiments for change in e.changes)):
        protocol_name = f"partial ({'quick; ' * experiments[0].quick}{'; '.join(changes)})"
    for one in experiments:  # before the first runs for hours
        check_affordable(one.grids, one.problems[0].dim, one.budget)
    make_folder(folder)
    try:  # a folder holds one protocol: quick or partial tables must not replace full ones unnoticed
        held = str(json.loads((folder / "manifest.json").read_text())["protocol"])
    except (OSError, ValueError, KeyError, TypeError):  # no manifest, or a damaged one
        held = protocol_name
    if held != protocol_name:
        raise ValueError(
            f"{folder} holds the results of a {held} run; choose another folder for a {protocol_name} one "
            "(--out)"
        )

    def judge(
        experiment: Experiment, tuned: Tuned, best: Future[dict[str, float]]
    ) -> tuple[PaperSummary, list[Finding], dict[str, bytes]]:
        """An experiment's summary, findings and pictures, made while the next one runs."""
        summary = summarise(experiment, tuned, best.result())
        return summary, findings(summary), draw(summary)

    results: list[tuple[Experiment, Tuned]] = []
    judged: list[Future[tuple[PaperSummary, list[Finding], dict[str, bytes]]]] = []
    fewest, most = THREADS
    with ThreadPoolExecutor(max(fewest, min(cores(), most))) as threads, _background() as background:
        for experiment in experiments:
            say(f"{experiment.title}: {experiment.size}; data: {experiment.provenance.source}")
            best = background.submit(best_known, experiment, folder, fresh=fresh)
            tuned = run(experiment, folder, fresh=fresh, executor=executor or threads, progress=progress)
            results.append((experiment, tuned))
            judged.append(background.submit(judge, experiment, tuned, best))
        outcomes = [future.result() for future in judged]
    summaries = [summary for summary, *_ in outcomes]
    found = {summary.experiment.name: sentences for summary, sentences, _ in outcomes}
    pictures = {name: picture for *_, drawn in outcomes for name, picture in drawn.items()}
    manifest: dict[str, Any] = {
        "command": command,
        "protocol": protocol_name,
        "data": {e.name: e.provenance.source for e in experiments},
        "best_known": {s.experiment.name: dict(s.best_known) for s in summaries},
        "experiments": {e.name: dict(t.manifest) for e, t in results},
        "duration_s": round(time.monotonic() - began, 1),
    }
    with writing(folder):
        write(folder, results, summaries, pictures, found, manifest)
    return Reproduction(folder, tuple(summaries), found, manifest)


def _experiments(
    only: str | None,
    scope: Scope,
    splits: Sequence[str] | None,
    weeks: Sequence[str] | None,
    data: str,
) -> list[Experiment]:
    """The experiments to run; an argument of one that is left out is refused."""
    if only not in (None, *EXPERIMENTS):
        raise ValueError(f"only must be one of {', '.join(EXPERIMENTS)}; got {checks.brief(only)}")
    for name, word, given in (("strategic", "splits", splits), ("pricing", "weeks", weeks)):
        if given is not None and only not in (None, name):
            raise ValueError(
                f"only {only} leaves out the {name} experiment, which the {word} {', '.join(given)} are of; "
                f"give only or {word}, not both"
            )
    experiments: list[Experiment] = []
    if only != "pricing":
        taken = protocol.SPLITS if splits is None else splits
        experiments.append(protocol.strategic(scope=scope, splits=taken, data=data))
    if only != "strategic":
        taken = protocol.WEEKS if weeks is None else weeks
        experiments.append(protocol.pricing(scope=scope, weeks=taken, data=data))
    return experiments


@contextmanager
def _background() -> Generator[ThreadPoolExecutor]:
    """A thread for work next to the sweeps; interrupted, it begins nothing more."""
    with ThreadPoolExecutor(1) as thread:
        try:
            yield thread
        except BaseException:
            thread.shutdown(cancel_futures=True)
            raise


def run(
    experiment: Experiment,
    folder: str | Path | None,
    *,
    fresh: bool = False,
    executor: Executor | None = None,
    progress: bool = True,
) -> Tuned:
    """The tuned runs of one experiment."""
    return sweep.tune(
        experiment.grids,
        experiment.problems,
        names=experiment.instances,
        budget=experiment.budget,
        development=experiment.development,
        held_out=experiment.held_out,
        evaluate_every=experiment.evaluate_every,
        metrics=bool(experiment.problems[0].metric_names),
        folder=folder,
        fresh=fresh,
        executor=executor,
        progress=progress,
        title=experiment.title,
        together=experiment.quick or None,  # an accelerator's room decides
    )
