"""The registry: a method's name, how to build it, its parameters and numbers that run anywhere.

Longer than 300 lines for its first half, the table of methods.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftopt import checks, plugins
from driftopt.method import Method, check_method
from driftopt.methods import output_rules
from driftopt.methods.auto import EDITION, Auto
from driftopt.methods.auto_1 import Auto1
from driftopt.methods.entry import EXAMPLES, Entry, written
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
            step: step size of the online learner, the paper's η. None: no step is needed, each step is
                D/(G√M) with G estimated from the gradients seen so far (AdaGrad-norm).
            block: iterations in a block, the paper's M (T in its experiments). The increment starts again
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
            output=checks.choice("output", output, output_rules.RULES),
        )

    return build


def _sgd(estimator: Estimator, radius: Any, step: Any, block: Any, batch: Any, output: str) -> Method:
    return SGD(
        radius=checks.positive("radius", radius),
        step=checks.positive("step", step),
        block=checks.count("block", block),
        batch=checks.count("batch", batch),
        estimator=estimator,
        output=checks.choice("output", output, output_rules.RULES),
    )


def _batched(estimator: Estimator) -> Callable[..., Method]:
    """SGD whose cost is set by `batch`, samples a point."""

    def build(radius: Any, step: Any, batch: Any = 1, block: Any = 1, output: str = "final") -> Method:
        """Plain steps along one estimator.

        Args:
            block: iterates whose mean is one block's, for the output rules `last-block` and `random-block`;
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
            block: iterates whose mean is one block's, for the output rules `last-block` and `random-block`;
                the steps do not depend on it.
        """
        estimator = TwoPoint(count=checks.shape("directions", directions), law=law)
        return _sgd(estimator, radius, step, block, batch, output)

    return build


def _auto(
    radius: Any,
    max_radius: Any = None,
    budget: int | None = None,
    directions: Any = 1,
    edition: Any = EDITION,
) -> Method:
    """The walk that needs no tuning.

    Args:
        radius: a first guess of how far from the current decision a trial should be, in the units of x. The
            method makes its trials smaller where large ones cost too much, and larger where small ones tell
            too little, so a wrong guess costs little.
        max_radius: a promise: no trial is farther than this from the current decision. None: the method
            may go as far as it finds worth while, within the bounds.
        directions: pairs of trials asked at once, around one decision; `parallel` of a study sets it.
            It sets a shape, so it is one number for a method.
        edition: of the rule: 10, or 9, which doubted walks that had surely come down, or 8, which lost its
            scale where one of the first answers was taken back, or 7, which after few deployments recommended
            less of its walk than it could have, or 6, which single answers of a heavy tail could lead astray,
            or 5, which also noticed late that it was lost where noise grows with the radius, or 4, whose
            trials could run away where answers are heavy-tailed, or 3, which often took tidy answers for wild
            ones, or 2, which noticed a wild one among the first two late. A study writes it down and goes on
            with it; leave it out elsewhere.
    """
    if checks.shape("edition", edition) not in range(2, EDITION + 1):
        raise ValueError(f"edition must be 2 to {EDITION}, got {checks.brief(edition)}")
    return Auto(
        radius=checks.positive("radius", radius),
        max_radius=None if max_radius is None else checks.positive("max_radius", max_radius),
        budget=None if budget is None else checks.shape("budget", budget),
        directions=checks.shape("directions", directions),
        edition=checks.shape("edition", edition),
    )


def _auto_1(radius: Any, budget: int | None = None) -> Method:
    """auto as it was before its radius could grow.

    Args:
        radius: how far from the current decision a trial may be, in the units of x. The method makes its own
            trials smaller where large ones cost too much, never larger.
    """
    return Auto1(
        radius=checks.positive("radius", radius),
        budget=None if budget is None else checks.shape("budget", budget),
    )


_O2NC = ("radius", "step", "block", "batch", "output", "directions")
_BATCHED = ("radius", "step", "batch", "block", "output")
_DIRECTED = ("radius", "step", "directions", "batch", "block", "output")

_REGISTRY: dict[str, Entry] = {
    "auto": Entry(
        _auto,
        "two points, no tuning: a first guess of a length, and the budget",
        ("radius", "max_radius", "budget", "directions", "edition"),
        {"radius": 0.5, "budget": 200},
        pinned={"edition": EDITION},
    ),
    "auto-1": Entry(
        _auto_1,
        "auto as older studies began it: its radius never grows",
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


def _own() -> dict[str, Entry]:
    """All of driftopt's methods; those of the field load here, for whoever names another than the first."""
    from driftopt.methods.field import FIELD

    return {**_REGISTRY, **FIELD}


GROUP = f"{plugins.OWN}.methods"  # of entry points
_REGISTERED: dict[str, Entry] = {}  # while the program runs


def register(
    name: str,
    build: Callable[..., Method] | Entry,
    *,
    summary: str = "",
    example: Mapping[str, Any] | None = None,
) -> None:
    """Give a method of your own a name, for `minimize`, `compare`, `sweep` and `Study`.

    An installed package names its methods as entry points of the group "driftopt.methods" instead, and they
    are there without a call. A name given in this session may be given again: a notebook's cell runs twice.

    Args:
        name: letters, digits, dots, dashes and underscores.
        build: a function whose parameters are the method's, or the Method class itself.
        summary: what it is, in a line; the first line of `build`'s docstring unless given.
        example: numbers that run anywhere, for the parameters that have no default.

    Raises:
        ValueError: where the name is driftopt's own or an installed package's.
    """
    checks.plain_name("name", name)
    if name in _own() or name in _plugins():
        raise ValueError(
            f"{name!r} is a method of {entry(name).provider} already; choose another name for yours"
        )
    provider = plugins.provider_of(build.build if isinstance(build, Entry) else build)
    line = written(build, provider, summary, example)
    if example is not None:
        try:
            line.build(**line.example)
        except Exception as error:
            raise ValueError(f"example must hold numbers that build the method: {error}") from error
    _REGISTERED[name] = line


def names() -> tuple[str, ...]:
    """Every method's name: driftopt's own, those of installed packages, those registered meanwhile."""
    return (*_own(), *_plugins(), *_REGISTERED)


def entry(name: str, provider: str | None = None) -> Entry:
    """A method's line in the registry.

    Args:
        name: one of `names()`.
        provider: the package that brought the method when it was chosen, to be named if it is missing now.

    Raises:
        ValueError: for an unknown name; the message lists near ones, or the package that brings it.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"a method's name must be a word, one of {', '.join(names())}; got {checks.brief(name)}"
        )
    if provider is not None and not isinstance(provider, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"provider must be the name of a package, or None; got {checks.brief(provider)}")
    # What is driftopt's own is found without looking at what else is installed.
    line = _REGISTRY.get(name) or _own().get(name) or _REGISTERED.get(name) or _plugins().get(name)
    if line is not None:
        return line
    if (why := plugins.loaded(GROUP, _accepted).left_out.get(name)) is not None:
        raise ValueError(f"method {name!r} is not there: {why}")
    if provider is not None and not plugins.is_package(provider):
        raise ValueError(
            f"method {name!r} is not there: a script gave it that name with driftopt.methods.register, and "
            "no package brings it. Run or import that script first, or make a package of the method"
        )
    if provider not in (None, plugins.OWN):
        raise ValueError(
            f"method {name!r} is not there: {provider} brings it. Install that package, or import it where "
            "it registers its methods itself"
        )
    near = difflib.get_close_matches(str(name), names(), n=3, cutoff=0.3)
    raise ValueError(f"unknown method {name!r}; did you mean {', '.join(near or names())}?")


def describe() -> dict[str, str]:
    """What each method is, in a line."""
    return {name: entry(name).summary for name in names()}


def get(name: str, **params: Any) -> Method:
    """Build a method. A number may be an array: one lane for each of its elements.

    Args:
        name: one of `names()`.
        params: the method's numbers by name; `driftopt methods NAME` lists them.

    >>> get("zo-o2nc-2pt", radius=0.5, step=1e-3, block=10, batch=5).queries(dim=12)
    10
    """
    line = entry(name)
    unknown = sorted(set(params) - set(line.parameters))
    if unknown:
        raise ValueError(
            f"{name} has no parameter {', '.join(unknown)}; it takes {', '.join(line.parameters)}"
        )
    if missing := [p for p in line.parameters if p not in line.defaults and p not in params]:
        raise ValueError(f"{name} needs {' and '.join(missing)}")
    return check_method(line.build(**params))


def tried(name: str, params: Mapping[str, Any], radius: Any = None) -> Method:
    """A method to be asked what it sees: built with the user's numbers, and examples for those not given.

    Args:
        params: the user's numbers by name, without the radius.
        radius: the user's radius; one for each coordinate says nothing of one length.

    Raises:
        ValueError: where a parameter is needed that the user did not give and no example is known of.
    """
    line = entry(name)
    needed = {p: one for p, one in {**EXAMPLES, **line.example}.items() if p in line.parameters}
    numbers = {p: one for p, one in needed.items() if p not in line.defaults} | dict(params)
    if radius is not None and not np.ndim(radius) and "radius" in line.parameters:
        numbers["radius"] = radius
    return get(name, **numbers)


def _plugins() -> dict[str, Entry]:
    return plugins.loaded(GROUP, _accepted).usable


def _accepted(plugin: plugins.Plugin) -> Entry:
    checks.plain_name("its name", plugin.name)
    if plugin.name in _own():
        raise ValueError("driftopt has a method of that name itself")
    return written(plugin.value, plugin.provider)
