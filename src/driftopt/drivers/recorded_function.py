"""A function that returns more than a value: `minimize` is given the value, and the rest is kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import Beside, beside


class RecordedFunction:
    """The user's function as one of values alone, with what else came of every query.

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
        self._fun, self._names, self._vectorized = fun, tuple(names), vectorized
        self.metric_names = tuple(metrics)
        self._relative_to_control = relative_to_control
        self._said: list[Beside] = []

    def __call__(self, x: np.ndarray, *args: Any) -> Any:
        answer = self._fun(x, *args)
        if isinstance(answer, dict) and not self._vectorized:
            return self._named(answer)
        if not self._names:
            raise ValueError(
                "with limits, relative_to_control or precision the function returns its value by name and "
                'what came with it, {"value": …, "metrics": …, "control": …, "n": …, "sem": …}; got '
                f"{checks.brief(answer)}"
            )
        if not isinstance(answer, tuple) or len(answer) != 2:
            more = "" if self._vectorized else ', or {"value": …, "covariates": …, "metrics": …, "sem": …}'
            raise ValueError(
                f"with covariates=[names] the function returns (value, covariates){more}; got "
                f"{checks.brief(answer)}"
            )
        self._check_control(())
        value, given = answer
        rows = self._numbers(given, len(x)) if self._vectorized else self._numbers(given, None)
        self._said.extend(Beside(dict(zip(self._names, row, strict=True))) for row in rows.tolist())
        return value

    def _named(self, answer: dict[str, Any]) -> Any:
        known = ("value", "covariates", "metrics", "n", "control", "sem")
        if "value" not in answer or set(answer) - set(known):
            raise ValueError(
                f"the function returns a table with value, and of {', '.join(known[1:])} what there is; got "
                f"{checks.brief(sorted(answer))}"
            )
        self._check_control(answer)
        error = answer.get("sem")
        said = Beside(
            beside.covariates(answer.get("covariates"), self._names),
            beside.metrics(answer.get("metrics"), self.metric_names),
            beside.size(answer.get("n")),
            beside.control(answer.get("control")),
            None if error is None else float(checks.one_positive("sem", error)),
        )
        self._said.append(said)
        return answer["value"]

    def _check_control(self, names: Iterable[str]) -> None:
        if self._relative_to_control and "control" not in names:
            raise ValueError(
                "with relative_to_control the function returns what control gave beside each value, "
                '{"value": …, "control": …}, NaN where it is not known; got no control'
            )

    def _numbers(self, given: Any, count: int | None) -> np.ndarray:
        """(n, k), or (1, k) for one query; NaN where one is not known."""
        if isinstance(given, Mapping):
            table = checks.table("covariates", given)
            if unknown := sorted(set(table) - set(self._names)):
                raise ValueError(f"covariates has {', '.join(unknown)}; they are {', '.join(self._names)}")
            nan = np.nan if count is None else np.full(count, np.nan)
            columns = [checks.numbers_of(name, table.get(name, nan), "iufb") for name in self._names]
            array = np.stack([column.astype(float) for column in columns], axis=-1)
        else:
            array = checks.numbers_of("covariates", given, "iufb").astype(float)
        expected = (len(self._names),) if count is None else (count, len(self._names))
        if array.shape != expected:
            raise ValueError(f"covariates must have the shape {expected}, got {array.shape}")
        return array.reshape(-1, len(self._names))

    def last(self, count: int, settle: int) -> list[Beside]:
        """Of the last `count` queries those that are used."""
        return self._said[len(self._said) - count :][settle - 1 :: settle]

    def covariates(self, count: int) -> np.ndarray:
        """(count, k) of the first queries; NaN for one that is not known."""
        rows = [[said.covariates.get(name, np.nan) for name in self._names] for said in self._said[:count]]
        return np.array(rows, np.float64).reshape(-1, len(self._names))

    def metrics(self, count: int) -> np.ndarray:
        """(count, m) of the first queries; NaN for one that was not measured."""
        rows = [[said.metrics.get(name, np.nan) for name in self.metric_names] for said in self._said[:count]]
        return np.array(rows, np.float64).reshape(-1, len(self.metric_names))
