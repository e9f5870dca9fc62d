"""Many processes on one study: `swarm_worker.py URL PROCESSES SHARE`; each asks and tells SHARE deployments.

They are forked from this process, which has imported everything but has not started JAX: each starts its own.
"""

import logging
import os
import select
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import driftopt.study.method_state  # noqa: F401  imported once for all
from driftopt.study import NothingToAsk, Study
from support.study_worlds import bowl


def work(url, share):
    logging.getLogger("driftopt").setLevel(logging.ERROR)  # to wait for the others is no news here
    study = Study.open(url, "swarm")
    done = 0
    while done < share:
        try:
            trial = study.ask()
        except NothingToAsk:
            select.select([], [], [], 0.005)  # the others hold what is left of the iteration
            continue
        state = study.tell(trial.id, bowl(trial))
        os.write(1, f"{trial.id} {state}\n".encode())
        done += 1


def spawn(url, share):
    pid = os.fork()
    if pid == 0:
        try:
            work(url, share)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
            os._exit(1)
        os._exit(0)
    return pid


if __name__ == "__main__":
    assert len(os.listdir("/proc/self/task")) == 1, "a fork must not leave threads behind"
    workers = [spawn(sys.argv[1], int(sys.argv[3])) for _ in range(int(sys.argv[2]))]
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers))
