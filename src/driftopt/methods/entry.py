"""A line of the registry: how to build a method, what it sees and finds, and numbers that run anywhere."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from driftopt import checks, plugins
from driftopt.method import Method
from driftopt.oracle import Sight
from driftopt.plugins import OWN
from driftopt.pytree import check_decorated_class

EXAMPLES = {"radius": 0.5, "step": 0.01, "budget": 200}  # for parameters that go by their usual names


@dataclass(frozen=True)
class Entry:
    """One line of the registry: how to build a method, what it is, and numbers that run anywhere."""

    build: Callable[..., Method]  # makes the method of its numbers
    summary: str  # what it is, in a line
    parameters: tuple[str, ...]  # the names of the numbers that `build` takes
    # Numbers that run anywhere.
    example: Mapping[str, Any] = field(default_factory=lambda: {"radius": 0.5, "step": 0.01})
    provider: str = OWN  # the package that brings it
    # Numbers that a study writes down though nobody gave them: another version may have others.
    pinned: Mapping[str, Any] = field(default_factory=dict[str, Any])
    finds: str = "optimum"  # what it comes to: a stationary point of f, or the stable point of retraining

    @cached_property
    def sees(self) -> Sight | None:
        """What the method sees with its example's numbers; None where those do not build it."""
        try:
            return self.build(**self.example).sees
        except Exception:  # another's code, without the numbers that only its user knows
            return None

    @property
    def sees_words(self) -> str:
        """What the method sees, as a list says it."""
        return "what it says once its numbers are given" if self.sees is None else self.sees.words

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The parameters that may be left out, and what they are then."""
        accepted = inspect.signature(self.build).parameters.values()
        return {p.name: p.default for p in accepted if p.default is not p.empty}


def written(build: Any, provider: str, summary: str = "", example: Mapping[str, Any] | None = None) -> Entry:
    """The entry of what a package or a user brings: an Entry, or a function or class that makes a Method.

    The parameters are the function's own; the summary is its docstring's first line unless one is given.
    """
    if isinstance(build, Entry):
        return replace(build, provider=provider)
    if not callable(build):
        raise ValueError(
            f"build must be a function or a class that makes a Method, got {checks.brief(build)}"
        )
    if isinstance(build, type) and issubclass(build, Method):
        check_decorated_class(build)
    accepted = inspect.signature(build).parameters.values()
    named = [p for p in accepted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if unnamed := [p.name for p in accepted if p not in named]:
        raise ValueError(f"build must name every parameter; {', '.join(unnamed)} cannot be given by name")
    if not isinstance(summary, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"summary must be a line of text, got {checks.brief(summary)}")
    if example is None:
        example = {p.name: EXAMPLES[p.name] for p in named if p.default is p.empty and p.name in EXAMPLES}
    text = summary or plugins.first_line(build)
    numbers = checks.table("example", example)
    return Entry(cast(Any, build), text, tuple(p.name for p in named), numbers, provider)
