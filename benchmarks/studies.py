"""What a live study costs: ask + tell in memory and on SQLite against Optuna's, and replaying a long log."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from benchmarks.rows import check, row
from driftopt.study import Study
from driftopt.study.log import Asked, Happened, Opened, Row, statements

DIM, ROUNDS, SHORT, LONG = 10, 50, 100, 100_000


def rows() -> Iterator[dict[str, Any]]:
    """Ask + tell by the same process, one after the other; the function costs next to nothing."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = _optuna(f"sqlite:///{folder}/optuna.db")
        places = {"in memory": "sqlite://", "on SQLite, synchronous=FULL": f"sqlite:///{folder}/ours.db"}
        for where, url in places.items():
            ours = _ours(url)
            yield row(
                f"study: ask + tell {where}, {DIM} dimensions",
                f"{ours * 1e3:.2f} ms",
                f"Optuna (random sampler) on SQLite {theirs * 1e3:.2f} ms",
                theirs / ours,
                ">= 3x less",
                theirs / ours >= 3,
            )
        whole, said, late = _replay(f"sqlite:///{folder}/long.db", LONG)
        what = f"study: replay {LONG:,} answers"
        yield row(what, f"{whole:.1f} s", said, None, "<= 10 s", whole <= 10)
        _, _, early = _replay(f"sqlite:///{folder}/short.db", SHORT)
        what = f"study: ask + tell after {LONG:,} answers"
        said = f"after {SHORT} answers {early * 1e3:.2f} ms"
        yield row(what, f"{late * 1e3:.2f} ms", said, late / early, "<= 2x", late / early <= 2)


def _timed(step: Callable[[], None]) -> float:
    """Seconds a round, the best of three runs after one that compiles."""
    best = np.inf
    for _ in range(4):
        began = time.perf_counter()
        for _ in range(ROUNDS):
            step()
        best = min(best, time.perf_counter() - began)
    return best / ROUNDS


def _ours(url: str) -> float:
    study = Study.create(
        url, "a", x0=np.ones(DIM), budget=4 * ROUNDS, params={"radius": 0.3}, method="zo-o2nc-2pt", rng=0
    )

    def step() -> None:
        trial = study.ask()
        study.tell(trial.id, float(trial.x @ trial.x))

    seconds = _timed(step)
    told = study.trials(state="complete")
    check(len(told) == 4 * ROUNDS, "the study lost an answer")
    check(np.sum(study.recommend().x ** 2) < DIM, "the study did not improve")
    study.close()
    return seconds


def _optuna(url: str) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=0))

    def step() -> None:
        trial = study.ask()
        x = np.array([trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(DIM)])
        study.tell(trial, float(x @ x))

    seconds = _timed(step)
    check(len(study.trials) == 4 * ROUNDS, "Optuna lost an answer")
    return seconds


def _replay(url: str, count: int) -> tuple[float, str, float]:
    """A log written in bulk with the points that the method would have asked: opened, then gone on with.

    Returns the seconds to open it, what is to be said of it, and seconds for an ask and a tell.
    """
    from driftopt.study.sequential_rule import Replay

    study = Study.create(
        url, "a", x0=np.ones(DIM), budget=2 * LONG, params={"radius": 0.3}, method="zo-o2nc-2pt", rng=0
    )
    values = np.random.default_rng(0).standard_normal((count // 2, 2))
    state = Replay(study.spec)
    state.follow(list(values[:-1]))
    last = state.decisions()
    state.follow(list(values))
    _write_log(study, values, last)
    expected = state.recommendation()
    study.close()
    began = time.perf_counter()
    again = Study.open(url, "a")
    found = again.recommend()
    seconds = time.perf_counter() - began
    check(found.results == count and np.array_equal(found.x, expected), "the replay differs")
    size = Path(sa.make_url(url).database or "").stat().st_size / 2**20

    def step() -> None:
        trial = again.ask()
        again.tell(trial.id, 1.0)

    each = _timed(step)
    again.close()
    return seconds, f"log of {size:.0f} MiB; identical to the bit", each


def _write_log(study: Study, values: np.ndarray, last: np.ndarray | None) -> None:
    """Only the last iteration's points are looked at again when a log is opened."""
    points, x = (str(np.asarray(part).tolist()) for part in (last, np.asarray(last)[0]))
    log = study.transport.log  # pyright: ignore[reportPrivateUsage]
    rows: list[Row] = []

    def append(kind: Any, *fields: Any) -> None:
        rows.append(kind(len(rows) + 1, *fields))

    for t, told in enumerate(values.tolist()):
        append(Opened, t, points, 2, 1, 0.0)
        for p, value in enumerate(told):
            append(Asked, 2 * t + p + 1, "method", t, p, 0, x, None, "bench", 0.0, None)
            append(Happened, 2 * t + p + 1, "complete", value, None, None, None, None, 0.0, None)
    log.database.write(lambda connection: statements.copy(connection, log.study_id, log.begin, rows))
