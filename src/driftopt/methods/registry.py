"""The registry: a method's name, how to build it, its parameters and numbers that run anywhere."""

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from driftopt import checks
from driftopt.method import Method
from driftopt.methods import output_rules
from driftopt.methods.auto import Auto
from driftopt.methods.estimators import Coordinate, Estimator, OnePoint, Residual, TwoPoint
from driftopt.methods.learners import OGD, AdaGradNorm
from driftopt.methods.o2nc import O2NC
from driftopt.methods.sgd import SGD


def _o2nc(estimator: Callable[..., Estimator]) -> Callable[..., Method]:
    def build(
        radius: Any,
        step: Any = None,
        block: Any = 10,
        batch: Any = 1,
        output: str = "final",
        directions: Any = 1,
    ) -> Method:
        """ZO-O2NC on one estimator.

        Args:
            step: Step size of the online learner, the paper's η. None: no step is needed, each step is
                D/(G√M) with G estimated from the gradients seen so far (AdaGrad-norm).
            block: Iterations in a block, the paper's M (T in its experiments). The increment starts again
                from 0 in every block, and no increment is longer than radius/block. `minimize` and `Study`
                take T^(2/3) of T iterations when neither `block` nor `step` is given.
        """
        learner = AdaGradNorm() if step is None else OGD(checks.positive("step", step))
        return O2NC(
            radius=checks.positive("radius", radius),
            block=checks.count("block", block),
            batch=checks.count("batch", batch),
            learner=learner,
            estimator=estimator(count=checks.shape("directions", directions)),
            rule=checks.choice("output", output, output_rules.RULES),
        )

    return build


def _sgd(estimator: Estimator, radius: Any, step: Any, block: Any, batch: Any, output: str) -> Method:
    return SGD(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        block=checks.count("block", block),
        batch=checks.count("batch", batch),
        estimator=estimator,
        rule=checks.choice("output", output, output_rules.RULES),
    )


def _batched(estimator: Estimator) -> Callable[..., Method]:
    """SGD whose cost is set by `batch`, samples a point."""

    def build(radius: Any, step: Any, batch: Any = 1, block: Any = 1, output: str = "final") -> Method:
        """Plain steps along one estimator.

        Args:
            block: Iterates whose mean is one block's, for the output rules `last-block` and `random-block`;
                the steps do not depend on it.
        """
        return _sgd(estimator, radius, step, block, batch, output)

    return build


def _directed(law: str, default_output: str = "final") -> Callable[..., Method]:
    """SGD whose cost is set by `directions`, averaged in one estimate."""

    def build(
        radius: Any,
        step: Any,
        directions: Any = 1,
        batch: Any = 1,
        block: Any = 1,
        output: str = default_output,
    ) -> Method:
        """Plain steps along a mean over directions.

        Args:
            block: Iterates whose mean is one block's, for the output rules `last-block` and `random-block`;
                the steps do not depend on it.
        """
        estimator = TwoPoint(count=checks.shape("directions", directions), law=law)
        return _sgd(estimator, radius, step, block, batch, output)

    return build


def _auto(radius: Any, budget: int | None = None) -> Method:
    """The walk that needs no tuning.

    Args:
        radius: How far from the current decision a trial may be, in the units of x. The method makes its own
            trials smaller where large ones cost too much, never larger.
    """
    return Auto(
        radius=checks.positive("radius", radius),
        budget=None if budget is None else checks.shape("budget", budget),
    )


@dataclass(frozen=True)
class Entry:
    """One line of the registry: how to build a method, what it is, and numbers that run anywhere."""

    build: Callable[..., Method]
    summary: str
    parameters: tuple[str, ...]
    example: Mapping[str, Any] = field(default_factory=lambda: {"radius": 0.5, "step": 0.01})

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters that may be left out, and what they are then."""
        accepted = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in accepted if p.default is not p.empty}


_O2NC = ("radius", "step", "block", "batch", "output", "directions")
_BATCHED = ("radius", "step", "batch", "block", "output")
_DIRECTED = ("radius", "step", "directions", "batch", "block", "output")

_REGISTRY: dict[str, Entry] = {
    "auto": Entry(
        _auto,
        "two points, no tuning: one length and the budget",
        ("radius", "budget"),
        {"radius": 0.5, "budget": 200},
    ),
    "zo-o2nc-2pt": Entry(_o2nc(TwoPoint), "ZO-O2NC, Option I: two points on the sphere", _O2NC),
    "zo-o2nc-1pt": Entry(_o2nc(Residual), "ZO-O2NC, Option II: one-point residual", _O2NC),
    "zo-co": Entry(_batched(Coordinate()), "SGD on coordinate differences", _BATCHED),
    "zo-sph": Entry(_directed("sphere"), "SGD on two points, sphere", _DIRECTED),
    "zo-ga": Entry(_directed("gaussian"), "SGD on two points, Gaussian", _DIRECTED),
    "zo-og": Entry(_batched(OnePoint()), "SGD on one point, sphere", _BATCHED),
    "zo-sgd": Entry(
        _directed("sphere", "random-block"), "mini-batch two-point SGD on f_δ, a random iterate", _DIRECTED
    ),
}


def names() -> tuple[str, ...]:
    """Every method's name."""
    return tuple(_REGISTRY)


def entry(name: str) -> Entry:
    """A method's line in the registry; an unknown name is a ValueError that lists near names."""
    if name not in _REGISTRY:
        near = difflib.get_close_matches(str(name), _REGISTRY, n=3, cutoff=0.3)
        raise ValueError(f"unknown method {name!r}; did you mean {', '.join(near or _REGISTRY)}?")
    return _REGISTRY[name]


def describe() -> dict[str, str]:
    """What each method is, in a line."""
    return {name: line.summary for name, line in _REGISTRY.items()}


def get(name: str, **params: Any) -> Method:
    """Build a method. A number may be an array: one lane for each of its elements.

    >>> get("zo-o2nc-2pt", radius=0.5, step=1e-3, block=10, batch=5).queries(dim=12)
    10
    """
    line = entry(name)
    unknown = sorted(set(params) - set(line.parameters))
    if unknown:
        raise ValueError(
            f"{name} has no parameter {', '.join(unknown)}; it takes {', '.join(line.parameters)}"
        )
    try:
        return line.build(**params)
    except TypeError as error:
        missing = [p for p in line.parameters if p not in line.defaults and p not in params]
        if not missing:
            raise
        raise ValueError(f"{name} needs {' and '.join(missing)}") from error
