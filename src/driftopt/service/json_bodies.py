"""A study's objects as the models' data: names and numbers, nothing decided."""

import json
from dataclasses import asdict
from typing import Any

from driftopt.study import Recommendation, Study, Trial

_PLAIN = (
    "id",
    "kind",
    "state",
    "keep",
    "iteration",
    "draw",
    "point",
    "sample",
    "holder",
    "asked_at",
    "expires_at",
    "value",
    "sem",
    "covariates",
    "metrics",
    "n",
    "control",
    "reason",
    "answered_at",
    "story",
)


def trial(found: Trial) -> dict[str, Any]:
    """A trial, its decision by name."""
    deployed = None if found.x_deployed is None else found.x_deployed.tolist()
    history = [event._asdict() for event in found.history]
    plain = {name: getattr(found, name) for name in _PLAIN}
    return plain | {"x": found.as_dict, "x_deployed": deployed, "history": history}


def recommendation(found: Recommendation) -> dict[str, Any]:
    """A recommendation, its decision by name."""
    plain = {name: getattr(found, name) for name in ("iterations", "spent", "improvement", "note", "known")}
    return plain | {"x": found.as_dict, "metrics": [asdict(one) for one in found.metrics]}


def plan(study: Study) -> dict[str, Any]:
    """A study's plan, and how far it is."""
    return study.status()._asdict() | {"spec": json.loads(study.spec.as_json())}
