"""A check for mistyped answers: one far from all others is held until a person accepts it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftopt.answers.step import Answer, Peers, Step, Verdict

RECENT = 30  # answers that another one is compared with
ENOUGH = 12  # with fewer, nothing is said yet; the median of this many last ones is the level now
OUTERMOST = 1  # at either end of those it is compared with: it may be a typo itself
USUAL = 60.0


@dataclass(frozen=True)
class Guard(Step):
    """Holds an answer that is more than limit · s outside of the range of those before it.

    s is what pairs and repeats have shown so far,

        s = median |v_t − v_{t−1}| / √2     over the last 30 answers,

    since the deployments of one iteration follow each other: a study that goes steeply down, or a world that
    drifts, changes the level from answer to answer much less than over thirty. The range is that of the last
    30 that are not held, except the outermost at either end, and reaches to the median of the last
    dozen, held or not: a world that has really changed is believed when most of those agree, and a mark such
    as −999999 that comes now and then never is.

    Where there are few answers of a kind (the first controls, confirmations, measures of stationarity), s
    is that of the method's own answers, and the range covers what is known of them and of the few.

    If half of the answers are equal, s is 0 and nothing is held: rare events are not typos.

    A control value is compared with earlier control values in the same way: an outlier of either misleads a
    method that learns from the difference.

    With limit 60, of honest answers with the heavy tails of Student's t with 3 degrees of freedom fewer than
    one in 10,000 is held; a lost decimal point is noticed where noise is below about a fifth of the value.
    """

    limit: float = USUAL

    def judge(self, answer: Answer) -> Verdict | None:
        """Held, if the answer is far from all its peers.

        >>> from driftopt.answers import Peers
        >>> usual = Peers(np.array([20.0, 21.0, 19.0, 22.0, 20.5, 18.0] * 2))
        >>> Guard().judge(Answer(2050.0, peers=usual))
        Verdict(state='held', reason='2050 is 1434 times as far from the others (18 to 22) as is usual')
        >>> Guard().judge(Answer(31.0, peers=usual)) is None
        True
        """
        if answer.peers is None:
            return None
        against = self._beside_peers(answer.value, answer.peers)
        if against is None and answer.control is not None and answer.peers.controls is not None:
            against = _of_control(self._beside_peers(answer.control, answer.peers.controls))
        return against

    def _beside_peers(self, value: float, peers: Peers) -> Verdict | None:
        alike, others, held, _ = peers
        if len(alike) >= ENOUGH:
            others = ()
        told = [group for group in (alike, *others) if len(group) >= ENOUGH]
        stand = [alike if held is None else alike[~held], *others]
        ends = [end for group in stand if len(group) for end in _range(group)]
        ends += [float(np.median(group[-ENOUGH:])) for group in told]
        return self._verdict(value, ends, max(map(_usual, told), default=0.0))

    def review(self, told: np.ndarray, controls: np.ndarray) -> Sequence[Verdict | None]:
        """Verdicts on the first answers, once there are enough of them, or enough controls."""
        found = self._first(told)
        known = np.flatnonzero(~np.isnan(controls))
        for i, against in zip(known.tolist(), map(_of_control, self._first(controls[known])), strict=True):
            found[i] = against if found[i] is None else found[i]
        return found

    def _first(self, told: np.ndarray) -> list[Verdict | None]:
        """Verdicts on each of the first values; only None if there are fewer or more of them.

        Those of a study that begins steeply are far from what came later: s is here at least the median
        distance to the median.
        """
        if len(told) != ENOUGH:
            return [None] * len(told)
        median = float(np.median(told))
        usual = max(_usual(told), float(np.median(np.abs(told - median))))
        return [self._verdict(value, [median], usual) for value in told.tolist()]

    def _verdict(self, value: float, ends: Sequence[float], usual: float) -> Verdict | None:
        if usual == 0.0:
            return None
        low, high = min(ends), max(ends)
        away = max(low - value, value - high)
        if away <= self.limit * usual:
            return None
        where = f"about {low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        return Verdict(
            "held", f"{value:g} is {away / usual:.0f} times as far from the others ({where}) as is usual"
        )


def _of_control(verdict: Verdict | None) -> Verdict | None:
    return None if verdict is None else verdict._replace(reason=f"control {verdict.reason}")


def _range(values: np.ndarray) -> tuple[float, float]:
    """The least and the largest, without the outermost ones if there are enough."""
    ordered = np.sort(values)
    kept = ordered[OUTERMOST:-OUTERMOST] if len(ordered) >= ENOUGH else ordered
    return float(kept[0]), float(kept[-1])


def _usual(values: np.ndarray) -> float:
    """s of at least two values."""
    return float(np.median(np.abs(np.diff(values)))) / 2**0.5
