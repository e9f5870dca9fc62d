"""Plain values come back from their text as they were, to the bit."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from driftopt.answers.step import Peers
from driftopt.study import exact_json
from driftopt.study.log import Checkpoint

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | arrays.arrays(st.sampled_from([np.float64, np.int32, np.uint32, np.bool_]), (2, 1)),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


@given(plain)
@settings(max_examples=50)
def test_every_plain_value_comes_back_as_it_was(value):
    again = exact_json.loads(exact_json.dumps(value))
    assert exact_json.dumps(again) == exact_json.dumps(value)
    assert repr(again) == repr(value)
    assert type(again) is type(value)


def test_records_of_the_answers_room_come_back_and_no_other_class_does():
    record = Peers(np.array([[1.0, -0.0]]), (np.array([3.0]),))
    again = exact_json.loads(exact_json.dumps(record))
    assert isinstance(again, Peers)
    assert exact_json.dumps(again) == exact_json.dumps(record)
    with pytest.raises(TypeError):
        exact_json.dumps(json.dumps)
    with pytest.raises(TypeError):
        exact_json.dumps(Checkpoint(1, "", "", ""))
    for name in (["os", "system", ["true"]], ["driftopt.answers.step", "Any", []]):
        with pytest.raises(ValueError, match="no record"):
            exact_json.loads(json.dumps({"record": name}))
