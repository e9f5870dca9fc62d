"""Problems by name, with their options, for Python and for the file of a comparison."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast

from driftopt import checks, plugins
from driftopt.problem import Problem, check_problem

Build = Callable[..., Problem | Sequence[Problem]]
CLOSED, SEARCHED, NONE = "closed form", "by search", "none"  # the sources of a problem's own points


@dataclass(frozen=True)
class Known:
    """Facts about a problem without options."""

    dim: int  # d
    optimum: str  # "closed form", "by search" or "none"
    stable_point: str  # the same for the point where retraining stops
    memory: bool = False  # True: today's ξ depends on earlier decisions


@dataclass(frozen=True)
class Entry:
    """One problem in the registry: a function whose parameters are the options."""

    build: Build  # makes the problem; its parameters are the options
    summary: str  # the problem in a line
    provider: str = plugins.OWN  # the package that brings it
    known: Known | None = None  # None: its package does not say


def _strategic(split: int = 101, **options: Any) -> Problem:
    from driftopt.data.credit import load_credit
    from driftopt.problems.strategic import StrategicClassification

    table = load_credit(allow_fetch=False, allow_stand_in=True)
    return StrategicClassification.from_credit(split, table=table, **options)


def _pricing(week: str | None = None, seed: int = 0, **options: Any) -> Problem:
    from driftopt.problems.pricing import Pricing

    return Pricing.synthetic(seed, **options) if week is None else Pricing.from_week(week, **options)


def _credit_shift(**options: Any) -> Problem:
    from driftopt.data.scoring import load_scoring
    from driftopt.problems.credit_shift import CreditShift

    return CreditShift.from_table(load_scoring(allow_fetch=False, allow_stand_in=True), **options)


def _made_by(maker: str, summary: str, known: Known) -> Entry:
    """The entry of a function, "module.name", which is imported when a problem is made."""

    def build(**options: Any) -> Problem:
        home, _, name = maker.partition(".")
        return getattr(import_module(f"driftopt.problems.{home}"), name)(**options)

    return Entry(build, summary, known=known)


_REGISTRY: dict[str, Entry] = {
    "strategic": Entry(
        _strategic,
        "people move to be approved by a linear classifier; the paper's data",
        known=Known(12, NONE, SEARCHED),
    ),
    "pricing": Entry(
        _pricing, "prices of many products, buyers choose by a logit", known=Known(30, SEARCHED, NONE)
    ),
    "kink": _made_by(
        "synthetic.kink",
        "a sum of absolute values, noise that depends on the decision",
        Known(5, CLOSED, NONE),
    ),
    "two-wells": _made_by(
        "synthetic.two_wells", "a good and a bad well in every coordinate", Known(5, CLOSED, NONE)
    ),
    "location-shift": _made_by(
        "synthetic.location_shift",
        "data whose mean moves linearly with the decision",
        Known(5, CLOSED, CLOSED),
    ),
    "gaussian-pricing": _made_by(
        "pricing_gaussian.gaussian_pricing",
        "prices, and a normal demand that falls with them (Izzo et al. 2021)",
        Known(5, CLOSED, CLOSED),
    ),
    "ar1-pricing": _made_by(
        "pricing_gaussian.ar1_pricing",
        "the same, with a demand that follows slowly (Liu, Li and Wai 2024)",
        Known(5, CLOSED, CLOSED, memory=True),
    ),
    "credit-shift": Entry(
        _credit_shift,
        "a credit score, and applicants who shift their features (Perdomo et al. 2020)",
        known=Known(11, SEARCHED, SEARCHED),
    ),
    "root-location": _made_by(
        "scalar_location.root_location",
        "one number, data whose mean is the root of a line (Izzo et al. 2021)",
        Known(1, CLOSED, CLOSED),
    ),
    "line-location": _made_by(
        "scalar_location.line_location",
        "one number, data whose mean is a line (Izzo et al. 2021)",
        Known(1, CLOSED, CLOSED),
    ),
    "mixture-location": _made_by(
        "scalar_location.mixture_location",
        "one number, two kinds of people with a line each (Izzo et al. 2021)",
        Known(1, CLOSED, CLOSED),
    ),
    "regression": _made_by(
        "regression.performative_regression",
        "a coefficient that the true one follows (Izzo et al. 2021)",
        Known(1, CLOSED, CLOSED),
    ),
    "parking": _made_by(
        "parking_fees.parking",
        "prices at the kerb that should keep some spaces free (after Ray et al. 2022)",
        Known(2, CLOSED, CLOSED),
    ),
}
GROUP = f"{plugins.OWN}.problems"  # of entry points
_REGISTERED: dict[str, Entry] = {}  # while the program runs


def register(name: str, build: Build | Problem | Entry, *, summary: str = "") -> None:
    """Give a problem of your own a name, for the files of `driftopt compare` and for `problems.get`.

    An installed package names its problems as entry points of the group "driftopt.problems" instead, and they
    are there without a call. A name given in this session may be given again: a notebook's cell runs twice.

    Args:
        name: letters, digits, dots, dashes and underscores.
        build: a function of the options that makes a Problem or a list of them, or a Problem itself.
        summary: the problem in a line; by default the first line of `build`'s docstring.

    Raises:
        ValueError: the name is driftopt's own or an installed package's.
    """
    checks.plain_name("name", name)
    if name in _REGISTRY or name in _plugins():
        raise ValueError(f"{name!r} is a problem of {entry(name).provider} already; choose another name")
    provider = plugins.provider_of(build.build if isinstance(build, Entry) else build)
    _REGISTERED[name] = _written(build, provider, summary)


def names() -> tuple[str, ...]:
    """Every problem's name: driftopt's own, those of installed packages, those registered in this session."""
    return (*_REGISTRY, *_plugins(), *_REGISTERED)


def entry(name: str) -> Entry:
    """A problem's entry in the registry; an unknown name is a ValueError that lists the known ones."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"a problem's name must be a word, one of {', '.join(names())}; got {checks.brief(name)}"
        )
    line = _REGISTRY.get(name) or _REGISTERED.get(name) or _plugins().get(name)
    if line is None:
        if (why := plugins.loaded(GROUP, _accepted).left_out.get(name)) is not None:
            raise ValueError(f"problem {name!r} is not there: {why}")
        near = difflib.get_close_matches(str(name), names(), n=3, cutoff=0.6)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"unknown problem {name!r}; it is one of {', '.join(names())}{hint}")
    return line


def describe() -> dict[str, str]:
    """The summary of each problem, by name."""
    return {name: entry(name).summary for name in names()}


def get(name: str, **options: Any) -> Any:
    """Build a problem, or the list of them for a name of several.

    Args:
        name: one of `names()`.
        options: those of the problem, by name.

    >>> get("kink", dim=3).dim
    3
    """
    build = entry(name).build
    try:
        found = build(**options)
    except TypeError as error:
        raise ValueError(f"name {name!r}: the options do not fit {name}: {error}") from None
    for problem in found if isinstance(found, list | tuple) else [found]:
        check_problem(problem)
    return found


def _plugins() -> dict[str, Entry]:
    return plugins.loaded(GROUP, _accepted).usable


def _accepted(plugin: plugins.Plugin) -> Entry:
    checks.plain_name("its name", plugin.name)
    if plugin.name in _REGISTRY:
        raise ValueError("driftopt has a problem of that name itself")
    return _written(plugin.value, plugin.provider)


def _written(value: Any, provider: str, summary: str = "") -> Entry:
    if isinstance(value, Entry):
        return replace(value, provider=provider)
    if not isinstance(summary, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"summary must be a line of text, got {checks.brief(summary)}")
    build: Any = (lambda: check_problem(value)) if isinstance(value, Problem) else value
    if not callable(build):
        raise ValueError(
            f"build must be a Problem, or a function that makes Problems; got {checks.brief(value)}"
        )
    return Entry(cast(Build, build), summary or plugins.first_line(value), provider)
