"""A value measured elsewhere than asked says nothing of the asked point: it is a failure."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftopt.answers.step import Answer, Step, Verdict


@dataclass(frozen=True)
class DeployedAsAsked(Step):
    tolerance: float
    distance: Callable[[np.ndarray, np.ndarray], float]

    def judge(self, answer: Answer) -> Verdict | None:
        if answer.asked is None or answer.deployed is None:
            return None
        away = self.distance(answer.deployed, answer.asked)
        if away <= self.tolerance * (1 + 1e-9):  # 1.1 − 1.0 is a little more than 0.1
            return None
        return Verdict(
            "failed", f"deployed {away:.3g} away from the asked point (tolerance {self.tolerance:.6g})"
        )
