"""What the server answers, by example: a shop that learns the prices of tea and oil. /docs shows these."""

from typing import Any

_BEGAN = 1790000000.0
_DAY = 86400.0

STATE = {"id": 2, "state": "complete"}
TOLD: dict[str, Any] = STATE | {"doubted": []}

DELETED = {"name": "prices", "rows": 19}

STUDY_LIST: dict[str, Any] = {
    "studies": [
        {
            "name": "prices",
            "created_at": _BEGAN,
            "method": "auto",
            "direction": "maximize",
            "dim": 2,
            "budget": 40,
            "spent": 8,
            "stopped": False,
        }
    ]
}

STUDY_PLAN: dict[str, Any] = {
    "name": "prices",
    "created_at": _BEGAN,
    "budget": 40,
    "spent": 8,
    "stopped": None,
    "rows": 19,
    "halted": None,
    "spec": {
        "x0": [2.5, 9.9],
        "names": ["tea", "oil"],
        "method": "auto",
        "params": {"radius": 0.3, "budget": 32},
        "budget": 40,
        "bounds": [[2.0, 3.2], [8.5, 12.0]],
        "direction": "maximize",
        "seed": 7,
        "parallel": 1,
        "lease": 604800.0,
        "max_failures": 3,
        "tolerance": 0.03,
        "max_change": None,
        "control_every": None,
        "reserve": 8,
        "radius": 0.3,
        "reach": None,
        "points": 2,
        "repeats": 1,
        "guard": 60.0,
        "precision": True,
    },
}

TRIAL: dict[str, Any] = {
    "id": 2,
    "x": {"tea": 2.62, "oil": 9.71},
    "kind": "method",
    "state": "complete",
    "keep": False,
    "iteration": 0,
    "draw": 0,
    "point": 1,
    "sample": 0,
    "holder": "till 3",
    "asked_at": _BEGAN + 2 * _DAY,
    "expires_at": _BEGAN + 9 * _DAY,
    "value": 99.0,
    "sem": 0.5,
    "covariates": {},
    "metrics": {},
    "n": None,
    "control": None,
    "x_deployed": None,
    "reason": "counted twice",
    "answered_at": _BEGAN + 3 * _DAY,
    "history": [
        {"kind": "complete", "value": 98.0, "reason": None, "who": "till 3", "at": _BEGAN + 3 * _DAY},
        {
            "kind": "corrected",
            "value": 99.0,
            "reason": "counted twice",
            "who": "Ana",
            "at": _BEGAN + 8 * _DAY,
        },
    ],
    "story": "complete 98.0 by till 3; corrected 99.0 by Ana (counted twice)",
}

RECOMMENDATION: dict[str, Any] = {
    "x": {"tea": 2.74, "oil": 10.35},
    "iterations": 16,
    "spent": 40,
    "improvement": {
        "mean": 4.0,
        "sem": 0.5,
        "recommended": {"mean": 103.75, "sem": 0.25, "n": 4},
        "start": {"mean": 99.75, "sem": 0.25, "n": 4},
        "basis": "confirming deployments",
    },
    "note": "improvement over the start, from 4 confirming deployments of each",
    "known": "improvement 4 ± 0.5 (standard error)",
    "metrics": [],
}

SUMMARY: dict[str, Any] = {
    "name": "prices",
    "method": "auto",
    "direction": "maximize",
    "dim": 2,
    "budget": 40,
    "spent": 4,
    "reserve": 8,
    "iterations": 2,
    "answered": 0,
    "size": 2,
    "states": {
        "pending": 0,
        "complete": 4,
        "failed": 0,
        "expired": 0,
        "superseded": 0,
        "voided": 0,
        "held": 0,
    },
    "kinds": {"method": 4},
    "out": [],
    "drift": None,
    "values": {
        "n": 4,
        "first": 101.5,
        "last": 99.0,
        "low": 99.0,
        "high": 102.5,
        "trend": [101.5, 99.0, 102.5, 99.0],
    },
    "first_answer": _BEGAN + _DAY,
    "last_answer": _BEGAN + 8 * _DAY,
    "held": [],
    "failures": [],
    "next": {
        "what": "ask for the next deployment",
        "commands": ["driftopt study ask https://shop.example prices"],
    },
    "stopped": None,
    "halted": None,
    "covariates": [],
    "noise_left": None,
    "control": None,
    "change": None,
    "warnings": [],
}

CHANGES: dict[str, Any] = {
    "changes": [
        {
            "row": 18,
            "at": _BEGAN + 8 * _DAY,
            "kind": "complete",
            "trial_id": 8,
            "value": 99.5,
            "holder": None,
            "who": "till 3",
            "reason": None,
        },
        {
            "row": 19,
            "at": _BEGAN + 8 * _DAY,
            "kind": "corrected",
            "trial_id": 2,
            "value": 99.0,
            "holder": None,
            "who": "Ana",
            "reason": "counted twice",
        },
    ],
    "next": None,
}

# By the names of the models.
EXAMPLES: dict[str, dict[str, Any]] = {
    "Trial": TRIAL,
    "StudyPlan": STUDY_PLAN,
    "StudyList": STUDY_LIST,
    "Recommendation": RECOMMENDATION,
    "Summary": SUMMARY,
    "TrialState": STATE,
    "ToldTrial": TOLD,
    "Changes": CHANGES,
    "Deleted": DELETED,
}
