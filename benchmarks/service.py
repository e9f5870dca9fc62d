"""What `driftopt serve` bears: 50 clients on SQLite and PostgreSQL beside Optuna's gRPC proxy, and kill −9.

`python -m benchmarks service`; `python -m benchmarks.service kills 100` kills a server a hundred times alone.
"""

import multiprocessing
import os
import queue
import random
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import check, row
from driftopt.study import NothingToAsk, Study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.postgres_server import postgres_server
from support.served_process import Clients, kill_under_load, served
from support.study_worlds import bowl, drive

CLIENTS, PROCESSES, ANSWERS, DIM = 50, 2, 10_000, 5
THEIRS = 400  # answers through Optuna's proxy, which takes longer for each
PLAN: dict[str, Any] = {
    "x0": [1.0] * DIM,
    "method": "zo-o2nc-2pt",
    "params": {"radius": 0.3},
    "rng": 7,
    "parallel": 250,
}
_BEGIN = 30.0  # seconds within which a server must be there


def rows() -> Iterator[dict[str, Any]]:
    """SQLite and PostgreSQL, each with Optuna in the same run; then start, memory and kills."""
    with tempfile.TemporaryDirectory() as folder, postgres_server() as postgres:
        for where, url, other in (
            ("SQLite", f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/theirs.db"),
            ("PostgreSQL", postgres, postgres),
        ):
            yield from _beside_optuna(where, url, other)
        yield from _at_rest(f"sqlite:///{folder}/rest.db")
        yield from _killed(f"sqlite:///{folder}/killed.db", 100)
        yield _two_servers(postgres)


# 50 clients


def _beside_optuna(where: str, url: str, other: str) -> Iterator[dict[str, Any]]:
    token = _token()
    with served(url, token) as (address, _):
        Study.create(address, "load", budget=ANSWERS, **PLAN)
        seconds, asks, tells, errors = _clients(_ours, address, ANSWERS)
        study = Study.open(address, "load")
        done = [trial for trial in study.trials() if trial.state == "complete"]
        check(not errors, f"{len(errors)} errors, the first: {errors[:1]}")
        check(len(done) == ANSWERS, f"{ANSWERS - len(done)} answers were lost")
        alone = drive(Study.create("sqlite://", "load", budget=ANSWERS, **PLAN)).recommend().x
        check(study.recommend().x.tobytes() == alone.tobytes(), "the recommendation is another one")
    rate = ANSWERS / seconds
    with _optuna_proxy(other) as port:
        theirs_seconds, theirs_asks, theirs_tells, theirs_errors = _clients(_theirs, str(port), THEIRS)
    theirs = (len(theirs_tells)) / theirs_seconds
    yield row(
        f"service on {where}: {CLIENTS} clients, {ANSWERS:,} answers, 0 errors, 0 lost",
        f"{rate:.0f} tells/s",
        f"Optuna's gRPC proxy {theirs:.1f} tells/s ({THEIRS} answers, {len(theirs_errors)} errors)",
        rate / theirs,
        ">= 3x",
        rate >= 3 * theirs,
    )
    for what, ours, others in (("ask", asks, theirs_asks), ("tell", tells, theirs_tells)):
        yield row(
            f"service on {where}: {what}, p50 / p99",
            _percentiles(ours),
            f"Optuna {_percentiles(others)}",
            float(np.median(others) / np.median(ours)),
            "",
            None,
        )


def _percentiles(seconds: list[float]) -> str:
    low, high = (1e3 * float(np.percentile(seconds, level)) for level in (50, 99))
    return f"{low:.0f} / {high:.0f} ms"


def _clients(
    work: Callable[..., None], place: str, answers: int
) -> tuple[float, list[float], list[float], list[str]]:
    """Run all clients; returns the seconds, how long each ask and tell took, and what went wrong."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    barrier = context.Barrier(PROCESSES + 1)
    share = CLIENTS // PROCESSES
    workers = [
        context.Process(target=_process, args=(work, place, share, answers // PROCESSES, barrier, results))
        for _ in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    began = time.perf_counter()
    parts = [results.get() for _ in workers]
    seconds = time.perf_counter() - began
    for worker in workers:
        worker.join()
    asks, tells, errors = ([one for part in parts for one in part[i]] for i in range(3))
    return seconds, asks, tells, errors


def _process(
    work: Callable[..., None], place: str, clients: int, answers: int, barrier: Any, results: Any
) -> None:
    """Some of the clients, each in a thread; `answers` are to be given by all of them together."""
    left: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(answers):
        left.put(number)
    asks, tells, errors = list[float](), list[float](), list[str]()

    def client() -> None:
        try:
            work(place, left, asks, tells)
        except Exception as error:
            errors.append(repr(error))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    barrier.wait()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((asks, tells, errors))


def _taken(left: "queue.SimpleQueue[int]") -> bool:
    try:
        left.get_nowait()
    except queue.Empty:
        return False
    return True


def _ours(place: str, left: "queue.SimpleQueue[int]", asks: list[float], tells: list[float]) -> None:
    study = Study.open(place, "load")
    while _taken(left):
        while True:
            began = time.perf_counter()
            try:
                trial = study.ask()
                break
            except NothingToAsk:
                time.sleep(random.uniform(0, 0.02))  # the others hold what is left of the iteration
        asks.append(time.perf_counter() - began)
        value = bowl(trial)
        began = time.perf_counter()
        study.tell(trial.id, value)
        tells.append(time.perf_counter() - began)


def _theirs(place: str, left: "queue.SimpleQueue[int]", asks: list[float], tells: list[float]) -> None:
    import optuna
    from optuna.storages import GrpcStorageProxy

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = GrpcStorageProxy(host="localhost", port=int(place))
    study = optuna.load_study(study_name="load", storage=storage, sampler=optuna.samplers.RandomSampler())
    while _taken(left):
        began = time.perf_counter()
        trial = study.ask()
        x = np.array([trial.suggest_float(f"x{i}", -1.0, 1.0) for i in range(DIM)])
        asks.append(time.perf_counter() - began)
        began = time.perf_counter()
        study.tell(trial, float(x @ x))
        tells.append(time.perf_counter() - began)


@contextmanager
def _optuna_proxy(url: str) -> Generator[int]:
    """Optuna's RDB storage behind its own proxy, in a process of its own."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    code = (
        "import optuna, sys\n"
        "url, port = sys.argv[1], int(sys.argv[2])\n"
        "how = {'connect_args': {'timeout': 60}} if url.startswith('sqlite') else {}\n"
        "storage = optuna.storages.RDBStorage(url, engine_kwargs=how)\n"
        "optuna.create_study(study_name='load', storage=storage)\n"
        "print('ready', flush=True)\n"
        "optuna.storages.run_grpc_proxy_server(storage, host='localhost', port=port)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, url, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        check(process.stdout.readline().strip() == "ready", "Optuna's proxy did not start")
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + _BEGIN
    while time.monotonic() < until:
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    check(False, f"nothing listens on port {port}")


# Start, memory, kills, two servers


def _at_rest(url: str) -> Iterator[dict[str, Any]]:
    """From the command to the first answer, and the memory of a server that has answered it."""
    import urllib.request

    began = time.perf_counter()
    with served(url, _token()) as (address, process):
        urllib.request.urlopen(f"{address}/readyz").read()
        seconds = time.perf_counter() - began
        status = Path(f"/proc/{process.pid}/status").read_text()
    used = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # pyright: ignore[reportOptionalSubscript]
    yield row("service: from the command to /readyz", f"{seconds:.1f} s", "", None, "", None)
    yield row("service: memory when idle", f"{used:.0f} MB", "", None, "", None)


def _killed(url: str, kills: int, answers: int = 1500, clients: int = 8) -> Iterator[dict[str, Any]]:
    """Kill the server again and again under load; whoever was told 'recorded' must find it recorded."""
    token = _token()
    plan = {**PLAN, "parallel": 50}
    study = Study.create(url, "load", budget=answers, **plan)
    told, errors, killed = kill_under_load(url, token, "load", kills, clients)
    check(not errors, f"{len(errors)} clients gave up, the first: {errors[:1]}")
    trials = {trial.id: trial for trial in study.trials()}
    check(
        all((trials[id].state, trials[id].value) == ("complete", value) for id, value in told.items()),
        "an answer that was acknowledged is lost or changed",
    )
    check(
        [trial.state for trial in trials.values()] == ["complete"] * answers, "a trial was handed out twice"
    )
    alone = drive(Study.create("sqlite://", "load", budget=answers, **plan)).recommend().x
    check(study.recommend().x.tobytes() == alone.tobytes(), "the recommendation is another one")
    what = f"service: kill -9 under load, {clients} clients, {answers:,} answers"
    yield row(what, f"{killed} kills, 0 lost", "undisturbed: the same to the bit", None, "0 lost", True)


def _two_servers(url: str) -> dict[str, Any]:
    """Two servers on one PostgreSQL, half of the clients at each."""
    token, answers, plan = _token(), 2000, {**PLAN, "parallel": 50}
    with served(url, token) as (one, _), served(url, token) as (other, _):
        Study.create(one, "two", budget=answers, **plan)
        crowds = [Clients(place, "two", 5) for place in (one, other)]
        for crowd in crowds:
            crowd.start()
        for crowd in crowds:
            crowd.join()
        check(not [error for crowd in crowds for error in crowd.errors], "a client gave up")
        found = [Study.open(place, "two").recommend().x.tobytes() for place in (one, other)]
    alone = drive(Study.create("sqlite://", "two", budget=answers, **plan)).recommend().x.tobytes()
    check(found == [alone, alone], "two servers lead elsewhere than one process")
    what = f"service: two servers on one PostgreSQL, {answers:,} answers"
    return row(what, "the same to the bit", "one process", None, "equal", True)


def _token() -> str:
    """A new token, which the clients of this process send."""
    token = secrets.token_urlsafe(32)
    os.environ["DRIFTOPT_TOKEN"] = token
    return token


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for line in _killed(f"sqlite:///{folder}/killed.db", int(sys.argv[2])):
            print(line)
