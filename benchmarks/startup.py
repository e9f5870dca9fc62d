"""How long a user waits before anything happens."""

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
    bare, shown = _seconds("-c", "pass"), _seconds("-m", "driftopt", "--help")
    yield row(
        "driftopt --help", f"{shown:.2f} s", f"bare python {bare:.2f} s", None, "<= 0.3 s", shown <= 0.3
    )


def _seconds(*arguments: str) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
        best = min(best, time.perf_counter() - began)
        check(done.returncode == 0, f"{arguments} failed: {done.stderr.decode()[-300:]}")
    return best
