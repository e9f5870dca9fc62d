"""What `sweep.run` and `sweep.tune` are given, checked at the door."""

from collections.abc import Sequence
from typing import Any

from driftopt import checks
from driftopt.method import Method, check_method
from driftopt.methods.grids import Grid, grid
from driftopt.problem import Problem
from driftopt.rng.seeds import as_seed
from driftopt.sweep.parts import Simulated, Source


def check_source(problems: Sequence[Problem] | Source, names: Sequence[str] | None) -> Source:
    """Problems with their names as a source; a source itself stays one."""
    if isinstance(problems, Source):
        return problems
    if isinstance(problems, Problem):
        raise ValueError(
            f"problems must be a list of Problems: [{type(problems).__name__}(…)] holds yours alone"
        )
    problems = checks.several("problems", problems)
    if not problems or not all(isinstance(p, Problem) for p in problems):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("problems must be a list of Problem instances, at least one")
    labels = [
        str(name) for name in (range(len(problems)) if names is None else checks.several("names", names))
    ]
    if len(labels) != len(problems) or len(set(labels)) != len(labels):
        raise ValueError(f"{len(problems)} problems need as many different names; got {labels}")
    return Simulated(problems, labels)


def check_grids(grids: Sequence[Grid | Method]) -> list[Grid]:
    """The grids, a Method being one of a single configuration."""
    if not isinstance(grids, list | tuple):
        raise ValueError(f"grids must be a list of grid(…) or Methods, got {checks.brief(grids)}")
    given: list[Any] = list(grids)
    if odd := [one for one in given if not isinstance(one, Grid | Method)]:
        advice = f": make an instance, {odd[0].__name__}(…)" if isinstance(odd[0], type) else ""
        raise ValueError(
            f"grids must be a list of grid(…) or Methods; one of them is {checks.brief(odd[0])}{advice}"
        )
    checked = [one if isinstance(one, Grid) else grid(check_method(one)) for one in grids]
    labels = [one.label for one in checked]
    if len(set(labels)) != len(labels):
        raise ValueError(
            f"grids: every grid needs its own label; got {', '.join(labels)}. "
            'grid(method, label="mine") gives one, to a Method too, which is called by its class otherwise'
        )
    return checked


def check_version(version: str | None) -> str | None:
    """A text, or None."""
    if version is not None and not isinstance(version, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"version must be a text that names what the code does not show; got {checks.brief(version)}"
        )
    return version


def check_seeds(name: str, seeds: Sequence[int]) -> list[int]:
    """Different whole numbers below 2^32, at least one."""
    checked = [as_seed(seed, name) for seed in checks.several(name, seeds)]
    if not checked or len(set(checked)) != len(checked) or max(checked) >= 2**32:
        raise ValueError(
            f"{name} must be different whole numbers below 2^32, at least one; got {checks.brief(seeds)}"
        )
    return checked
