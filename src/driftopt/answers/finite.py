"""A value that is not finite, or too large to compute with, counts as a failure."""

import math
from dataclasses import dataclass

from driftopt.answers.step import Answer, Step, Verdict

# Methods square differences and certificates square squares: this leaves room for both, and for small radii.
LARGEST = 1e50


@dataclass(frozen=True)
class Finite(Step):
    """Refuses values that no method can compute with."""

    largest: float = math.inf

    def judge(self, answer: Answer) -> Verdict | None:
        """Failed, unless the value is finite and at most `largest` in size.

        >>> Finite().judge(Answer(math.nan))
        Verdict(state='failed', reason='the value is nan')
        """
        if not math.isfinite(answer.value):
            return Verdict("failed", f"the value is {answer.value}")
        if abs(answer.value) > self.largest:
            reason = (
                f"the value is {answer.value:g}, too large to compute with (the largest is {self.largest:g})"
            )
            return Verdict("failed", reason)
        return None
