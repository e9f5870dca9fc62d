"""Wrong but plausible arguments at every entry: refused with a sentence that names one, or they work."""

import numpy as np
import pytest

from support.fuzz import Entry, fuzz, judge, shut_off
from support.fuzz_entries import entries

CALLS = 3  # an entry, so that the suite stays quick; `python -m benchmarks.fuzz` makes thousands


def test_odd_arguments_are_refused_with_a_sentence_or_work(tmp_path):
    """And those that stand for good ones work: otherwise a refusal would say nothing."""
    with shut_off(tmp_path) as folder:
        known = entries(folder)
        wrong = {name: judge(entry, entry.good(), []) for name, entry in known.items()}
        assert not {name: failure for name, failure in wrong.items() if failure is not None}
        counts = {name: fuzz(entry, CALLS) for name, entry in known.items()}
    assert min(count.calls for count in counts.values()) == CALLS
    assert not [f"{name}: {failure}" for name, count in counts.items() for failure in count.failures]


def raises_from_below(size):
    return np.zeros(3).reshape(size)


def names_nothing(size):
    raise ValueError("something is wrong")


def names_another(size):
    raise ValueError(f"sizes must be 3, got {size!r}")


def ends_in_an_error_of_python(size):
    return [1, 2, 3][size]


def names_it(size):
    raise ValueError("size must be 3")


@pytest.mark.parametrize(
    ("call", "fails"),
    [
        (raises_from_below, True),
        (names_nothing, True),
        (names_another, True),
        (ends_in_an_error_of_python, True),
        (names_it, False),
    ],
)
def test_the_detector_tells_a_sentence_from_a_traceback(call, fails):
    assert bool(fuzz(Entry(call, lambda: {"size": 3}), 20).failures) == fails
