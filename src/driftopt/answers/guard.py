"""A guard against answers that were mistyped: one far from all others is held until a person accepts it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.answers.step import Answer, Step, Verdict

RECENT = 30  # answers that another one is compared with
ENOUGH = 12  # with fewer, nothing is said yet
USUAL = 60.0


@dataclass(frozen=True)
class Guard(Step):
    """Holds v where |v − m| > limit · s: m is the median of the recent answers, s their median distance to m.

    Answers that are held are among the recent ones too: a world that has really changed is believed after a
    while. Where half of the answers are equal, s is 0 and nothing is said: rare events are no typos.

    With limit 60, of honest answers with the heavy tails of Student's t with 3 degrees of freedom fewer than
    one in 10,000 is held; a lost decimal point is noticed where noise is below about a fifth of the value.
    """

    limit: float = USUAL

    def judge(self, answer: Answer) -> Verdict | None:
        """Held, if the answer is far from the recent ones.

        >>> usual = np.array([20.0, 21.0, 19.0, 22.0, 20.5, 18.0] * 2)
        >>> Guard().judge(Answer(2050.0, recent=usual))
        Verdict(state='held', reason='2050 is 2030 times as far from the median 20.25 as answers usually are')
        >>> Guard().judge(Answer(31.0, recent=usual)) is None
        True
        """
        if answer.recent is None or len(answer.recent) < ENOUGH:
            return None
        return self._verdict(answer.value, *_middle(answer.recent))

    def review(self, told: np.ndarray) -> Sequence[Verdict | None]:
        """What is to be said against the first answers, now that enough are in."""
        if len(told) != ENOUGH:
            return [None] * len(told)
        middle = _middle(told)
        return [self._verdict(value, *middle) for value in told.tolist()]

    def _verdict(self, value: float, median: float, usual: float) -> Verdict | None:
        away = abs(value - median)
        if usual == 0.0 or away <= self.limit * usual:
            return None
        return Verdict(
            "held",
            f"{value:g} is {away / usual:.0f} times as far from the median {median:g} as answers usually are",
        )


def _middle(values: np.ndarray) -> tuple[float, float]:
    """The median, and the median distance to it."""
    median = float(np.median(values))
    return median, float(np.median(np.abs(values - median)))
