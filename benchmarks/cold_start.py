"""`python -m benchmarks.cold_start`: where the time goes when no program is kept yet, program by program.

Processor seconds, one program at a time and nothing beside it, so that other work changes them little. The
quick protocol, or the full one with `--full`. Needs the data (DRIFTOPT_DATA).
"""

import os

# Before NumPy loads, as the command line does it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import jax

from driftopt.data.cache import folder as data_folder
from driftopt.paper import reproduction
from driftopt.paper.scope import Scope
from driftopt.runtime import executable_cache, jax_settings

HEAD = "| program | lanes | tracing | lowering | compiling and keeping | lines of HLO |"


class AtOnce:
    """In place of the thread for best known values and figures, whose seconds would count as a program's."""

    def submit(self, what: Callable[..., Any], *given: Any) -> Future[Any]:
        future = Future[Any]()
        future.set_result(what(*given))
        return future


def main() -> None:
    quick, programs = "--full" not in sys.argv, list[tuple[float, float, float]]()
    make: Any = executable_cache._make  # pyright: ignore[reportPrivateUsage]
    lowered_in = dict[int, tuple[str, float, float]]()  # by the lowered program: its row so far

    def timed_lowering(jitted: Any, arguments: Any, plan: Any) -> Any:
        clock = [time.process_time()]
        traced = jitted.trace(*arguments, plan)
        clock.append(time.process_time())
        lowered = traced.lower()
        clock.append(time.process_time())
        method, problem = (type(one).__name__ for one in arguments[:2])
        estimator = type(getattr(arguments[0], "estimator", None)).__name__
        name = f"{problem}: {method} {estimator if estimator != 'NoneType' else ''}, {plan.points} points"
        head = f"| {name} | {'×'.join(map(str, plan.lanes))} |"
        lowered_in[id(lowered)] = (head, clock[1] - clock[0], clock[2] - clock[1])
        return lowered

    def timed_making(lowered: Any, *others: Any) -> Any:
        began = time.process_time()
        program = make(lowered, *others)
        head, tracing, lowering = lowered_in.pop(id(lowered))
        seconds = (tracing, lowering, time.process_time() - began)
        programs.append(seconds)
        lines = len(lowered.as_text().splitlines())
        print(f"{head} {' | '.join(f'{part:.2f}' for part in seconds)} | {lines:,} |", flush=True)
        return program

    with tempfile.TemporaryDirectory() as folder:
        os.environ["DRIFTOPT_DATA"] = str(data_folder())  # it stays where it is
        os.environ["XDG_CACHE_HOME"] = folder
        os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
        jax_settings.prepare()
        executable_cache._lowered = timed_lowering  # pyright: ignore[reportPrivateUsage]
        executable_cache._make = timed_making  # pyright: ignore[reportPrivateUsage]
        print(f"{HEAD}\n|---|---|---|---|---|---|", flush=True)
        reproduction._background = lambda: nullcontext(AtOnce())  # pyright: ignore
        with ThreadPoolExecutor(1) as alone:
            reproduction.reproduce(Path(folder) / "out", scope=Scope(quick), executor=alone, progress=False)
    sums = [f"{sum(part):.1f}" for part in zip(*programs, strict=True)]
    print(
        f"\n{len(programs)} programs: tracing, lowering, compiling and keeping {', '.join(sums)} s;", end=" "
    )
    print(f"the whole process {time.process_time():.1f} s on {jax.local_device_count()} cores")


if __name__ == "__main__":
    main()
