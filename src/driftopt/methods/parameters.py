"""What a method's numbers mean, in a sentence each: the one text for the pages and for every method.

Where a method gives a word a meaning of its own, its `build` function says so under `Args:`.
"""

import inspect
from dataclasses import dataclass
from typing import Any

from docstring_parser import DocstringStyle, parse

from driftopt.methods import registry

MEANINGS = {
    "radius": (
        "How far from the current decision a trial may be, in the units of x: the smoothing radius, the "
        "paper's δ (O2NC) or μ (baselines)."
    ),
    "step": "Step size, the paper's η.",
    "block": (
        "Iterations in a block, the paper's M (T in its experiments). The output rules `last-block` and "
        "`random-block` report the mean of a block's iterates."
    ),
    "batch": (
        "Fresh samples averaged at each queried point, the paper's m. Every one of them counts as a query."
    ),
    "directions": (
        "Random directions averaged in one gradient estimate, the paper's N. It sets a shape, so it is one "
        "number, not one for each lane."
    ),
    "output": (
        "What a run reports: `final`, the last iterate; `last-block`, the mean of the last whole block; "
        "`random-block`, the mean of a block drawn uniformly, which is what the theorems speak of."
    ),
    "decay": "The step's factor from one iteration to the next.",
    "shrink": "The radius's factor from one iteration to the next.",
    "smallest": "The radius does not get smaller than this.",
    "growth": "By how many samples the batch grows from one iteration to the next.",
    "window": "Past iterations whose observations are kept. It sets a shape.",
    "free": "The share of the direction that is not guided at the start, from 0 to 1: the paper's α₀.",
    "trust": "How slowly the guide is given up: 1 − α falls by this factor in every iteration.",
    "low": "No coordinate of the decision gets below this.",
    "high": "No coordinate of the decision gets above this.",
    "budget": "The queries of the whole run. `minimize`, `Study` and `simulate` fill it in.",
}


def meaning(name: str, parameter: str) -> str:
    """A sentence on one parameter of one method.

    Args:
        name: the method's name in the registry.
        parameter: one of its parameters.

    Raises:
        ValueError: neither the method's own docstring nor the common list knows the parameter.

    >>> meaning("auto", "budget")
    'The queries of the whole run. `minimize`, `Study` and `simulate` fill it in.'
    """
    entry = registry.entry(name)
    text = _own(inspect.getdoc(entry.build) or "", parameter) or MEANINGS.get(parameter)
    if parameter not in entry.parameters or text is None:
        raise ValueError(
            f"{name} says nothing about {parameter}: describe it under `Args:` in the docstring of the "
            "function that builds the method"
        )
    return text


@dataclass(frozen=True)
class Described:
    """One parameter of a method: its default, or that it must be given, and what it means."""

    name: str
    required: bool
    default: Any
    meaning: str  # empty where a package describes nothing


def described(name: str) -> list[Described]:
    """Every parameter of a method, in the method's order."""
    entry = registry.entry(name)
    own = inspect.getdoc(entry.build) or ""
    return [
        Described(
            parameter,
            parameter not in entry.defaults,
            entry.defaults.get(parameter),
            _own(own, parameter) or MEANINGS.get(parameter, ""),
        )
        for parameter in entry.parameters
    ]


def _own(docstring: str, parameter: str) -> str | None:
    """The text under `Args:` for one parameter, on one line."""
    described = parse(docstring, DocstringStyle.GOOGLE).params
    found = [argument.description for argument in described if argument.arg_name == parameter]
    text = " ".join((found[0] or "").split()) if found else ""
    return text[:1].upper() + text[1:] or None  # a sentence of its own here
