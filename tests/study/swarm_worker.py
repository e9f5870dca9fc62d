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
import driftopt.study.sequential_rule  # noqa: F401  imported once for all
from driftopt.study import NothingToAsk, Study
from support.study_worlds import bowl


def work(url, share, budget):
    """Some answers are told wrong and corrected, while another of their iteration is still out."""
    logging.getLogger("driftopt").setLevel(logging.ERROR)  # to wait for the others is no news here
    study = Study.open(url, "swarm")
    study.extend(budget, "all of us are here")
    done = 0
    while done < share:
        try:
            trials = study.ask_many(min(share - done, 2 if done % 10 == 0 else 1))
        except NothingToAsk:
            select.select([], [], [], 0.005)  # the others hold what is left of the iteration
            continue
        for trial in trials:
            wrong = len(trials) == 2 and trial is trials[0]
            state = study.tell(trial.id, bowl(trial) + wrong)
            if wrong:
                state = study.correct(trial.id, bowl(trial), "lost decimal point")
            os.write(1, f"{trial.id} {state}\n".encode())
            done += 1


def spawn(url, share, budget):
    pid = os.fork()
    if pid == 0:
        try:
            work(url, share, budget)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
            os._exit(1)
        os._exit(0)
    return pid


if __name__ == "__main__":
    assert len(os.listdir("/proc/self/task")) == 1, "a fork must not leave threads behind"
    processes, share = map(int, sys.argv[2:])
    workers = [spawn(sys.argv[1], share, processes * share) for _ in range(processes)]
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers))
