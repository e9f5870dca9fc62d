"""More deployments than were planned: what was done stays, and the plan goes on to the new end."""

import pytest

from driftopt import methods
from driftopt.study import BudgetSpent, Study, studies
from support.study_worlds import PLAIN, drive

PLANNED = PLAIN | {"method": "walk"}  # the method plans for its budget


def decisions(study):
    return [trial.x.tobytes() for trial in study.trials()]


def test_a_study_goes_on_to_its_new_budget(sqlite_url):
    study = drive(Study.create(sqlite_url, "a", budget=12, **PLAIN))
    before = decisions(study)
    study.extend(20, "it pays", who="ana")
    assert decisions(study) == before
    drive(study)
    assert (len(study.trials()), study.summary().budget, studies(sqlite_url)[0].budget) == (20, 20, 20)
    assert decisions(study)[:12] == before
    again = Study.open(sqlite_url, "a")
    assert again.recommend().x.tobytes() == study.recommend().x.tobytes()
    assert again.verify() == study.verify()


def test_a_method_without_a_plan_walks_as_if_it_had_been_so_from_the_start(sqlite_url):
    """Its numbers are written out when the study is created: only the end moves."""
    numbers = PLAIN | {"params": {"radius": 0.3, "step": 0.01, "block": 5}}
    short = drive(Study.create(sqlite_url, "short", budget=12, **numbers))
    short.extend(24)
    whole = drive(Study.create(sqlite_url, "whole", budget=24, **numbers))
    assert decisions(drive(short)) == decisions(whole)


def test_the_plan_follows_from_where_it_was_extended(sqlite_url):
    """Extended before anything was told, it is the study of the larger budget; later, it is another walk."""
    whole = drive(Study.create(sqlite_url, "whole", budget=60, control_every=4, reserve=4, **PLANNED))
    early = Study.create(sqlite_url, "early", budget=30, control_every=4, reserve=4, **PLANNED)
    early.extend(60)
    assert decisions(drive(early)) == decisions(whole)
    assert early.recommend().x.tobytes() == whole.recommend().x.tobytes()
    late = drive(Study.create(sqlite_url, "late", budget=30, control_every=4, reserve=4, **PLANNED))
    before = decisions(late)
    late.extend(60)
    drive(late)
    assert decisions(late)[: len(before)] == before
    assert decisions(late) != decisions(whole)
    assert Study.open(sqlite_url, "late").recommend().x.tobytes() == late.recommend().x.tobytes()
    late.verify()


def test_every_method_goes_on(name):
    study = Study.create(
        "sqlite://",
        "a",
        budget=24,
        **PLAIN | {"method": name, "params": dict(methods.entry(name).example)},
    )
    drive(study)
    study.extend(48)
    drive(study)
    assert 24 < len(study.trials()) <= 48
    study.verify()


def test_what_cannot_be_extended_is_refused(sqlite_url):
    study = Study.create(sqlite_url, "a", budget=12, **PLAIN)
    for wrong in (0, -3, 11, 1.5, "many"):
        with pytest.raises(ValueError, match="budget"):
            study.extend(wrong)
    rows = study.verify()
    study.extend(12)
    assert study.verify() == rows
    study.stop("enough")
    with pytest.raises(ValueError, match="stopped"):
        study.extend(20)
    with pytest.raises(BudgetSpent):
        study.ask()
