"""Which of a run's queries say what f is where it ended, without a query more.

A value asked at a decision is unbiased for f there. A choice of values by what they are is not: the best
value seen is the luckiest draw. So the choice is by when they were asked, and by where, as planned.
"""

from typing import NamedTuple

import numpy as np

from driftopt.method import Method

PART = 8  # one in so many of the queries is late
LEAST = 4  # but no fewer than this


class Late(NamedTuple):
    queries: np.ndarray  # their numbers, from 0
    basis: str  # what they are, in words


def late_queries(method: Method, dim: int, ends: np.ndarray, settle: int) -> Late:
    """The last eighth of the queries at the iterate itself, where a method makes such; else of all.

    `ends` are the queries spent after 0, 1, … iterations; each decision is held for `settle` of them, and the
    last one counts.
    """
    counted = np.zeros(ends[-1], bool)
    counted[settle - 1 :: settle] = True
    here = np.zeros(ends[-1], bool)
    if not method.scheduled:  # all iterations cost the same
        at_iterate = method.at_iterate(np.arange(len(ends) - 1), dim)
        repeats = ends[1] // (settle * at_iterate.shape[1])
        here = np.repeat(np.tile(at_iterate, (1, repeats)).ravel(), settle)
    where = "at the walk's own decisions" if (found := counted & here).any() else "at trial decisions"
    queries = np.flatnonzero(found if found.any() else counted)
    late = queries[-max(LEAST, len(queries) // PART) :]
    return Late(late, f"the last {len(late)} values {where}")
