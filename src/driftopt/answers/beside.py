"""The side information reported with a value, its checks, and its one line of JSON in a log."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from driftopt import checks


class Beside(NamedTuple):
    """The side information of one value."""

    covariates: Mapping[str, float] = {}  # conditions that differ between deployments: rain, a holiday
    metrics: Mapping[str, float] = {}  # other measurements, by name: complaints
    n: float | None = None  # the number of customers, visits, … in the mean
    control: float | None = None  # the value that the start's decision gave at the same time
    sem: float | None = None  # the value's standard error: a column of its own in a log
    outputs: Mapping[str, float] = {}  # from which the value follows, by name: units sold of each product
    at: float | None = None  # the moment that the value is of, in seconds since the epoch
    early: bool | None = None  # True: a final value follows

    def as_json(self) -> str | None:
        """One line, the same for the same content; None if it is empty.

        >>> NOTHING._replace(covariates={"rain": 0.5}).as_json()
        '{"covariates": {"rain": 0.5}}'
        """
        held = {name: value for name, value in self._asdict().items() if value not in (None, {})}
        held.pop("sem", None)
        return json.dumps(held, sort_keys=True, allow_nan=False) if held else None

    @classmethod
    def from_json(cls, text: str | None) -> "Beside":
        """The side information in a line of `as_json`."""
        return NOTHING if text is None else cls(**json.loads(text))


NOTHING = Beside()


def covariates(given: Any, names: Sequence[str]) -> dict[str, float]:
    """The known covariates, by name: NaN, infinity and None mean that one is not known.

    Raises:
        ValueError: a name that was not declared, or a value that is not a number.
    """
    return _numbers("covariates", given, names, "covariates=[…]")


def metrics(given: Any, names: Sequence[str]) -> dict[str, float]:
    """The measured metrics, by name."""
    return _numbers("metrics", given, names, "limits={name: {}, …}")


def outputs(given: Any, names: Sequence[str]) -> dict[str, float]:
    """The observed outputs, by name."""
    return _numbers("outputs", given, names, "outputs=[…]")


def size(given: Any) -> float | None:
    """n, a number above 0; NaN and None mean that it is not known."""
    if given is None or math.isnan(checks.number("n", given)):
        return None
    return float(checks.one_positive("n", given))


def control(given: Any) -> float | None:
    """The control's value; NaN, infinity and None mean that it is not known."""
    read = math.nan if given is None else checks.number("control", given)
    return read + 0.0 if math.isfinite(read) else None


def _numbers(what: str, given: Any, names: Sequence[str], where: str) -> dict[str, float]:
    table = checks.table(what, given)
    if unknown := sorted(set(table) - set(names)):
        known = f"they are {', '.join(names)}" if names else f"none were named: give {where} at the beginning"
        raise ValueError(f"{what} has {', '.join(unknown)}, which is none of them; {known}")
    read = {
        name: checks.number(f"{what}[{name!r}]", value) for name, value in table.items() if value is not None
    }
    return {name: value + 0.0 for name, value in read.items() if math.isfinite(value)}


def names(what: str, given: Any) -> tuple[str, ...]:
    """Different names, in their order; None is an empty list."""
    listed = [] if given is None else checks.several(what, given)
    found = tuple(str(checks.text(f"each of {what}", name, 80)) for name in listed)
    if len(set(found)) < len(found):
        raise ValueError(f"{what} must be different names, got {checks.brief(list(found))}")
    return found
