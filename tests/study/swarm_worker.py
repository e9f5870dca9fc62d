"""One of many processes on one study: `swarm_worker.py URL SHARE` asks and tells SHARE deployments."""

import select
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from driftopt.study import NothingToAsk, Study
from study_worlds import bowl


def main(url, share):
    study = Study.open(url, "swarm")
    done = 0
    while done < share:
        try:
            trial = study.ask()
        except NothingToAsk:
            select.select([], [], [], 0.005)  # the others hold what is left of the iteration
            continue
        print(trial.id, study.tell(trial.id, bowl(trial)), flush=True)
        done += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
