"""What `minimize` returns: SciPy's result, printed short."""

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from driftopt.report import formats
from driftopt.report.numbers import significant
from driftopt.report.table import Row, Table, cells


class MinimizeResult(OptimizeResult):
    """SciPy's OptimizeResult: a dictionary whose items are attributes too. The history is not printed.

    Attributes:
        x (np.ndarray): the decision to use.
        fun (float | None): an unbiased mean of f at x or about there; None: the first iteration failed.
        fun_sem (float | None): its standard error.
        fun_basis (str): which values `fun` is the mean of, in words.
        nfev (int): calls of the function.
        nit (int): iterations that the method was told.
        success (bool): whether the budget was spent as planned.
        status (int): 0 the budget is spent, 1 the function failed, 2 interrupted, 3 diverged, 99 `callback`
            stopped the run.
        message (str): the same in words.
        params (dict): all numbers used, the seed too.
        history (dict): every query: `x` (n, d), `value` (n,), the `iteration` of each, and what was told
            beside the values.
        covariates (dict): the effect of each covariate by name, where there are any.
        metrics (dict): each metric at x by name, where there are limits.
        control (object): what taking control out has done, with `relative_to_control`.
    """

    def __repr__(self) -> str:
        width = max(len(name) for name in self)
        return "\n".join(f"{name:>{width}}: {text}" for name, text in self._lines().items())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = [Row(name, cells([text])) for name, text in self._lines().items()]
        return formats.html(Table("minimize", ("", "value"), rows, words=(0, 1)))

    def _lines(self) -> dict[str, str]:
        return {name: _text(name, value) for name, value in self.items()}


def _text(name: str, value: Any) -> str:
    if name == "history":
        return f"{len(value['value']):,} queries: x, value, iteration"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(key, each)}" for key, each in value.items())
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=5, threshold=8, edgeitems=3, separator=", ")
    return significant(value) if isinstance(value, float) else str(value)
