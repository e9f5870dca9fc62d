"""Telling and amending again, or otherwise: what stands is harmless, and a refusal says what works."""

import pytest

from driftopt.study import Conflict, Study
from support.study_worlds import PLAIN


def test_telling_what_stands_now_is_as_harmless_as_telling_it_twice(any_url):
    """A till that was mended sends what was corrected by hand; one that runs again sends what it sent."""
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    trial = study.ask()
    study.tell(trial.id, 150.0, sem=0.1, x_deployed=trial.x)
    study.correct(trial.id, 1.5, "lost decimal point")
    rows = study.verify()
    assert study.tell(trial.id, 1.5, sem=0.1, x_deployed=trial.x) == "complete"
    assert study.tell(trial.id, 1.5, sem=0.1) == study.tell(trial.id, 150.0, 0.1, trial.x) == "complete"
    for other in ({"value": 1.5}, {"value": 15.0, "sem": 0.1}):
        with pytest.raises(Conflict, match="`correct` replaces"):
            study.tell(trial.id, **other)
    with pytest.raises(Conflict, match="already told"):
        study.tell(trial.id, 1.5, sem=0.1, x_deployed=[9, 9])
    with pytest.raises(Conflict, match="`void` takes"):
        study.fail(trial.id, "no stock")
    study.void(trial.id, "no stock")
    assert study.fail(trial.id, "no stock") == study.tell(trial.id, 1.5, sem=0.1) == "voided"
    assert study.verify() == rows + 1
    failed = study.ask()
    study.fail(failed.id, "no stock")
    study.correct(failed.id, 2.0)
    assert study.tell(failed.id, 2.0) == study.fail(failed.id, "no stock") == "complete"


def test_a_value_of_another_point_does_not_stand_for_the_asked_one(any_url):
    """Told with another decision by mistake, and then without: it was not recorded, and must not look so."""
    study = Study.create(any_url, "a", budget=8, **PLAIN)
    trial = study.ask()
    assert study.tell(trial.id, 1.5, x_deployed=[9, 9]) == "failed"
    assert study.tell(trial.id, 1.5, x_deployed=[9, 9]) == "failed"
    with pytest.raises(Conflict, match="`correct` replaces"):
        study.tell(trial.id, 1.5)
