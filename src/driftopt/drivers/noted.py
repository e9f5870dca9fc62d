"""A function that returns (value, covariates): `minimize` is given the value, and the covariates are kept."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from driftopt import checks


class Noted:
    """The user's function as one of values alone, with what else came of every query."""

    def __init__(self, fun: Callable[..., Any], names: Sequence[str], vectorized: bool):
        self._fun, self._names, self._vectorized = fun, tuple(names), vectorized
        self._rows: list[np.ndarray] = []

    def __call__(self, x: np.ndarray, *args: Any) -> Any:
        answer = self._fun(x, *args)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ValueError(
                "with covariates=[names] the function returns (value, covariates); got "
                f"{checks.brief(answer)}"
            )
        value, given = answer
        self._rows.extend(self._numbers(given, len(x)) if self._vectorized else self._numbers(given, None))
        return value

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

    def last(self, count: int, settle: int, shape: tuple[int, int]) -> np.ndarray:
        """Of the last `count` queries those that are used, as (samples, p, k)."""
        used = self._rows[len(self._rows) - count :][settle - 1 :: settle]
        return np.array(used).reshape(*shape, len(self._names))

    def first(self, count: int) -> np.ndarray:
        """(count, k) of the first queries."""
        return np.array(self._rows[:count]).reshape(-1, len(self._names))
