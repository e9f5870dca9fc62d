"""A function that returns more than a value: `minimize` gets the value, and the rest is recorded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import Beside, beside


class RecordedFunction:
    """Your function as a function of values only, with a record of the side information of every query.

    It returns (value, covariates), or the arguments of `Study.tell` by name, {"value": …, "metrics": {…}}.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        names: Sequence[str],
        metrics: Sequence[str],
        vectorized: bool,
        relative_to_control: bool = False,
    ):
        self._fun, self.names, self._vectorized = fun, tuple(names), vectorized
        self.metric_names = tuple(metrics)
        self._relative_to_control = relative_to_control
        self._recorded: list[Beside] = []

    def __call__(self, x: np.ndarray, *args: Any) -> Any:
        returned = self._fun(x, *args)
        if isinstance(returned, dict) and not self._vectorized:
            return self._named(returned)
        if not self.names:
            raise ValueError(
                "with limits, relative_to_control or precision the function returns its value by name and "
                'its side information, {"value": …, "metrics": …, "control": …, "n": …, "sem": …}; got '
                f"{checks.brief(returned)}"
            )
        if not isinstance(returned, tuple) or len(returned) != 2:
            more = "" if self._vectorized else ', or {"value": …, "covariates": …, "metrics": …, "sem": …}'
            raise ValueError(
                f"with covariates=[names] the function returns (value, covariates){more}; got "
                f"{checks.brief(returned)}"
            )
        self._check_control(())
        value, given = returned
        rows = self._numbers(given, len(x)) if self._vectorized else self._numbers(given, None)
        self._recorded.extend(Beside(dict(zip(self.names, row, strict=True))) for row in rows.tolist())
        return value

    def _named(self, returned: dict[str, Any]) -> Any:
        """The value of a table by name, whose other items are recorded."""
        known = ("value", "covariates", "metrics", "n", "control", "sem")
        if "value" not in returned or set(returned) - set(known):
            raise ValueError(
                f"the function returns a table with value, and any of {', '.join(known[1:])}; got "
                f"{checks.brief(sorted(returned))}"
            )
        self._check_control(returned)
        error = returned.get("sem")
        information = Beside(
            beside.covariates(returned.get("covariates"), self.names),
            beside.metrics(returned.get("metrics"), self.metric_names),
            beside.size(returned.get("n")),
            beside.control(returned.get("control")),
            None if error is None else float(checks.one_positive("sem", error)),
        )
        self._recorded.append(information)
        return returned["value"]

    def _check_control(self, names: Iterable[str]) -> None:
        if self._relative_to_control and "control" not in names:
            raise ValueError(
                "with relative_to_control the function returns the control with each value, "
                '{"value": …, "control": …}, NaN if it is not known; got no control'
            )

    def _numbers(self, given: Any, count: int | None) -> np.ndarray:
        """The covariates as (n, k), or (1, k) for one query; NaN for unknown ones."""
        if isinstance(given, Mapping):
            table = checks.table("covariates", given)
            if unknown := sorted(set(table) - set(self.names)):
                raise ValueError(f"covariates has {', '.join(unknown)}; they are {', '.join(self.names)}")
            nan = np.nan if count is None else np.full(count, np.nan)
            columns = [checks.numbers_of(name, table.get(name, nan), "iufb") for name in self.names]
            array = np.stack([column.astype(float) for column in columns], axis=-1)
        else:
            array = checks.numbers_of("covariates", given, "iufb").astype(float)
        expected = (len(self.names),) if count is None else (count, len(self.names))
        if array.shape != expected:
            raise ValueError(f"covariates must have the shape {expected}, got {array.shape}")
        return array.reshape(-1, len(self.names))

    def last(self, count: int, settle: int) -> list[Beside]:
        """The side information of the last `count` queries whose values are used."""
        return self._recorded[len(self._recorded) - count :][settle - 1 :: settle]

    def covariates(self, count: int) -> np.ndarray:
        """The covariates (count, k) of the first queries; NaN for unknown ones."""
        rows = [[one.covariates.get(name, np.nan) for name in self.names] for one in self._recorded[:count]]
        return np.array(rows, np.float64).reshape(len(rows), len(self.names))

    def metrics(self, count: int) -> np.ndarray:
        """The metrics (count, m) of the first queries; NaN for unknown ones."""
        rows = [
            [one.metrics.get(name, np.nan) for name in self.metric_names] for one in self._recorded[:count]
        ]
        return np.array(rows, np.float64).reshape(len(rows), len(self.metric_names))
