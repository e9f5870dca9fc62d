"""Workers that are killed -9 at random moments, forked from one process that has imported everything.

Lines `URL KILLS SEED BUDGET` come in, one for each study, KILLS being the least; every acknowledgement goes
out and, at its end, how many workers were killed. JAX is imported before the fork but not started: each
worker that needs it starts its own.
"""

import itertools
import json
import os
import random
import select
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import driftopt.study.sequential_rule  # noqa: F401  imported here so that no worker pays for it
from driftopt.study import BudgetSpent, Study
from support.study_worlds import answer_the_long_way, bowl, extend_halfway, put_right

NAME, HOLDER = "crash", "worker"


MOST = (
    2  # deployments of a worker that is to be killed: so a budget of twice the kills is enough for them all
)
WAITS = "waits"  # what it says when they are done


def work(url, pipe, budget, most):
    """Answer and put right what the last worker left behind, then go on, until the budget is spent.

    Or until it has asked `most` times: then it waits for the end.
    """

    def acknowledge(*words):
        os.write(pipe, (" ".join(map(str, words)) + "\n").encode())

    def answer(trial):
        answer_the_long_way(study, trial)
        acknowledge("told", trial.id, bowl(trial).hex())

    study = Study.open(url, NAME)
    acknowledge("open")
    for trial in study.trials()[-2:]:  # one is out at a time
        if trial.state == "pending":
            acknowledge("unanswered", trial.id)
            answer(trial)
        elif put_right(study, trial):
            acknowledge("unfinished", trial.id)
    for asked in itertools.count():
        if asked == most:
            acknowledge(WAITS)
            signal.pause()
        extend_halfway(study, budget)
        try:
            trial = study.ask(holder=HOLDER)
        except BudgetSpent:
            study.stop("it is done")
            return
        acknowledge("asked", trial.id, trial.x.tobytes().hex())
        answer(trial)


def spawn(url, budget, most=None):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            work(url, write, budget, most)
        except BaseException as error:  # a traceback from pytest's grandchild would be lost
            os.write(write, f"error {error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    os.close(write)
    return pid, read


def listen(read, patience, stop):
    """Lines until `stop` came, the worker waits or closed its end, or patience ran out (None: never)."""
    lines, rest = [], b""
    while len(lines) < stop and WAITS not in lines:
        if patience is not None and not select.select([read], [], [], patience)[0]:
            break
        data = os.read(read, 65536)
        if not data:
            break
        *whole, rest = (rest + data).split(b"\n")
        lines += [line.decode() for line in whole]
    return lines, rest


def main(url, kills, seed, budget):
    assert len(os.listdir("/proc/self/task")) == 1, "a fork must not leave threads behind"
    rng = random.Random(seed)
    killed = told = 0
    # A quarter of the budget is told among kills, on a busy machine after more of them: there it is extended.
    while killed < kills or told <= budget // 4:
        pid, read = spawn(url, budget, MOST)
        # Most die within milliseconds of a random acknowledgement, some anywhere at all: before the study
        # is open, or while JAX starts.
        if rng.random() < 0.9:
            lines, rest = listen(read, None, rng.randrange(1, 8))
            more, rest = listen(read, rng.uniform(0, 0.01), 1) if lines else ([], rest)
            lines += more
        else:
            lines, rest = [], b""
            select.select([], [], [], rng.uniform(0, 0.3))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        tail, rest = listen(read, None, 10**9)
        os.close(read)
        print("\n".join(lines + tail), flush=True)
        killed += os.WIFSIGNALED(status)
        told += sum(line.startswith("told") for line in lines + tail)
        if not os.WIFSIGNALED(status):
            break  # the budget is spent, or something is wrong: the reader of this output will tell
    print("last")  # what follows nobody kills
    pid, read = spawn(url, budget)
    print("\n".join(listen(read, None, 10**9)[0]))
    os.waitpid(pid, 0)
    os.close(read)
    print(json.dumps({"killed": killed}), flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        url, *numbers = line.split()
        main(url, *map(int, numbers))
