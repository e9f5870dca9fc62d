"""How long a user waits before anything happens, with driftopt's modules compiled as pip leaves them."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.rows import check, row


def rows() -> Iterator[dict[str, Any]]:
    with_jax = _seconds("-c", "import jax")
    extra = max(0.0, _seconds("-c", "import jax, driftopt") - with_jax)
    used = max(0.0, _seconds("-c", "import jax, driftopt; driftopt.minimize, driftopt.simulate") - with_jax)
    yield row(
        "import driftopt beyond import jax",
        f"{extra:.2f} s",
        f"import jax {with_jax:.2f} s",
        None,
        "<= 0.2 s",
        extra <= 0.2,
    )
    yield row("first use of minimize and simulate", f"{used:.2f} s", "", None, "", None)
    first, budget, radius = (min(each) for each in zip(*(_first_calls() for _ in range(3)), strict=True))
    yield row(
        "first minimize of a process, import included", f"{first:.2f} s", "", None, "<= 1.3 s", first <= 1.3
    )
    yield row(
        "minimize with another budget",
        f"{budget:.3f} s",
        f"another radius {radius:.3f} s",
        None,
        "<= 0.1 s",
        budget <= 0.1,
    )
    ask = min(_first_ask() for _ in range(3))
    yield row("first ask of a study, import included", f"{ask:.2f} s", "", None, "<= 1 s", ask <= 1)
    bare, shown = _seconds("-c", "pass"), _seconds("-m", "driftopt", "--help")
    yield row(
        "driftopt --help", f"{shown:.2f} s", f"bare python {bare:.2f} s", None, "<= 0.3 s", shown <= 0.3
    )


# Where Python is told to write no bytecode, each process would compile driftopt's source again.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

CALLS = """
import time
times = [time.perf_counter()]
import driftopt
for budget, radius in ((200, 0.5), (300, 0.5), (300, 0.4)):
    driftopt.minimize(lambda x: float(x @ x), [1.0, 1.0, 1.0], budget=budget, radius=radius, rng=0)
    times.append(time.perf_counter())
print(*(after - before for before, after in zip(times, times[1:])))
"""


def _first_calls() -> list[float]:
    """Seconds of a process's first minimize, of one with another budget, and of one with another radius."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return [float(seconds) for seconds in done.stdout.split()]


ASK = """
import time
began = time.perf_counter()
from driftopt import Study
study = Study.create("sqlite://", "prices", x0=[1.0, 2.0, 3.0], radius=0.3, budget=100)
study.ask()
print(time.perf_counter() - began)
"""


def _first_ask() -> float:
    """Seconds until a fresh process has the first decision of a new study."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return float(done.stdout)


def _seconds(*arguments: str) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False, env=ENVIRONMENT)
        best = min(best, time.perf_counter() - began)
        check(done.returncode == 0, f"{arguments} failed: {done.stderr.decode()[-300:]}")
    return best
