"""The result of `minimize`: SciPy's result class, printed briefly, without loading SciPy, which is slow."""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult
else:
    OptimizeResult = dict


class MinimizeResult(OptimizeResult):
    """SciPy's OptimizeResult: a dictionary whose items are also attributes. The history is not printed.

    Once SciPy is loaded, `isinstance` finds it an instance of SciPy's class.

    Attributes:
        x (np.ndarray): the decision to use.
        fun (float | None): an unbiased mean of f at or near x; None if the first iteration failed.
        fun_sem (float | None): its standard error.
        fun_basis (str): a description of the values behind `fun`.
        nfev (int): calls of the function.
        nit (int): complete iterations.
        success (bool): whether the budget was spent as planned.
        status (int): 0 the budget is spent, 1 the function failed, 2 interrupted, 3 diverged, 99 `callback`
            stopped the run.
        message (str): the status in words, and whether the method knows that x may not be stationary.
        params (dict): all numbers used, with the seed.
        history (dict): every query: `x` (n, d), `value` (n,), the `iteration` of each, and the side
            information.
        covariates (dict): the effect of each covariate by name, if there are any.
        metrics (dict): each metric at x by name, if there are limits.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return list(self)

    @property  # `isinstance` asks for this, too
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _known_to_scipy() if "scipy.optimize" in sys.modules else MinimizeResult

    def __reduce__(self) -> Any:
        return MinimizeResult, (dict(self),)

    def __repr__(self) -> str:
        width = max(len(name) for name in self)
        return "\n".join(f"{name:>{width}}: {text}" for name, text in self._lines().items())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from driftopt.report import formats
        from driftopt.report.table import Row, Table, cells

        rows = [Row(name, cells([text])) for name, text in self._lines().items()]
        return formats.html(Table("minimize", ("", "value"), rows, words=(0, 1)))

    def _lines(self) -> dict[str, str]:
        return {name: _text(name, value) for name, value in self.items()}


@cache
def _known_to_scipy() -> type:
    from scipy.optimize import OptimizeResult

    return type("MinimizeResult", (MinimizeResult, OptimizeResult), {"__module__": __name__})


def _text(name: str, value: Any) -> str:
    from driftopt.report.numbers import significant

    if name == "history":
        return f"{len(value['value']):,} queries: x, value, iteration"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(key, each)}" for key, each in value.items())
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=5, threshold=8, edgeitems=3, separator=", ")
    return significant(value) if isinstance(value, float) else str(value)
