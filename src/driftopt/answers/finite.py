"""A value that is no finite number is a failure."""

import math

from driftopt.answers.step import Answer, Step, Verdict


class Finite(Step):
    def judge(self, answer: Answer) -> Verdict | None:
        """
        >>> Finite().judge(Answer(math.nan))
        Verdict(state='failed', reason='the value is nan')
        """
        return None if math.isfinite(answer.value) else Verdict("failed", f"the value is {answer.value}")
