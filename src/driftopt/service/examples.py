"""Answers of the server by example, which /docs shows: a shop that learns the prices of tea and oil."""

from typing import Any

import numpy as np
from pydantic import TypeAdapter

from driftopt.service import models
from driftopt.study import Change, Listed, Recommendation, Status, Summary, Trial
from driftopt.study.facts import NextStep, Values
from driftopt.study.recommendation import Improvement, Mean
from driftopt.study.records import as_json
from driftopt.study.trial import Event

_BEGAN = 1790000000.0
_DAY = 86400.0

_TRIAL = Trial(
    id=2,
    x=np.array([2.62, 9.71]),
    names=("tea", "oil"),
    kind="method",
    iteration=0,
    point=1,
    sample=0,
    holder="till 3",
    asked_at=_BEGAN + 2 * _DAY,
    expires_at=_BEGAN + 9 * _DAY,
    state="complete",
    value=99.0,
    sem=0.5,
    reason="counted twice",
    answered_at=_BEGAN + 3 * _DAY,
    history=(
        Event("complete", 98.0, None, "till 3", _BEGAN + 3 * _DAY),
        Event("corrected", 99.0, "counted twice", "Ana", _BEGAN + 8 * _DAY),
    ),
)
_CHANGES = (
    Change(18, _BEGAN + 8 * _DAY, "complete", 8, value=99.5, who="till 3"),
    Change(19, _BEGAN + 8 * _DAY, "corrected", 2, value=99.0, who="Ana", reason="counted twice"),
)
_RECOMMENDATION = Recommendation(
    x=np.array([2.74, 10.35]),
    names=("tea", "oil"),
    results=40,
    spent=40,
    improvement=Improvement(4.0, 0.5, Mean(103.75, 0.25, 4), Mean(99.75, 0.25, 4), "confirming deployments"),
    note="improvement over the start, from 4 confirming deployments of each",
)
_SUMMARY = Summary(
    name="prices",
    method="model",
    direction="maximize",
    dim=2,
    budget=40,
    spent=4,
    reserve=8,
    results=4,
    states={"pending": 0, "complete": 4, "failed": 0},
    kinds={"method": 4},
    out=(),
    drift=None,
    values=Values(4, 101.5, 99.0, 99.0, 102.5, (101.5, 99.0, 102.5, 99.0)),
    first_answer=_BEGAN + _DAY,
    last_answer=_BEGAN + 8 * _DAY,
    held=(),
    failures=(),
    next=NextStep("ask for the next deployment", ("driftopt study ask https://shop.example prices",)),
    recommendation=_RECOMMENDATION,
)
_PLAN = Status("prices", _BEGAN, budget=40, spent=8, stopped=None, rows=19, halted=None)._asdict() | {
    "spec": {  # some of its fields
        "x0": [2.5, 9.9],
        "names": ["tea", "oil"],
        "method": "model",
        "params": {},
        "budget": 40,
        "bounds": [[2.0, 3.2], [8.5, 12.0]],
        "direction": "maximize",
        "seed": 7,
        "parallel": 1,
        "reserve": 8,
    }
}
_LISTED = Listed("prices", _BEGAN, "model", "maximize", dim=2, budget=40, spent=8, stopped=False)


def _as_json(kind: Any, example: Any) -> dict[str, Any]:
    read = TypeAdapter(kind)
    return read.dump_python(read.validate_python(example, from_attributes=True), mode="json")


# By the names of the models.
EXAMPLES: dict[str, dict[str, Any]] = {
    "Trial": _as_json(models.Trial, _TRIAL),
    "StudyPlan": _as_json(models.StudyPlan, _PLAN),
    "StudyList": _as_json(models.StudyList, {"studies": [_LISTED]}),
    "Recommendation": _as_json(models.Recommendation, _RECOMMENDATION),
    "Summary": as_json(_SUMMARY),
    "TrialState": {"id": 2, "state": "complete"},
    "Changes": _as_json(models.Changes, {"changes": _CHANGES}),
    "Deleted": {"name": "prices", "rows": 19},
}
