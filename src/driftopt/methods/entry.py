"""An entry of the registry: how to build a method, which numbers it takes, what it sees and finds."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from driftopt import checks, plugins
from driftopt.method import Method
from driftopt.methods.parameters import COMMON, Check, check_box
from driftopt.oracle import Sight
from driftopt.plugins import OWN
from driftopt.pytree import check_decorated_class

EXAMPLES = {"radius": 0.5, "step": 0.01, "budget": 200}  # for parameters with a usual name and no default


class Described(NamedTuple):
    """One parameter of a method: its default, or that it must be given, and its meaning."""

    name: str
    required: bool
    default: Any
    meaning: str  # empty if the package describes nothing


@dataclass(frozen=True)
class Entry:
    """One method in the registry: the function or class that builds it, whose parameters are its numbers."""

    build: Callable[..., Method]  # makes the method from its numbers
    summary: str  # the method in a line
    # Numbers that run anywhere, at least for the parameters without a default.
    example: Mapping[str, Any] = field(default_factory=lambda: {"radius": 0.5, "step": 0.01})
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])  # of numbers that are not in COMMON
    provider: str = OWN  # the package that brings it
    finds: str = "optimum"  # its goal: an optimum, a stationary point of f, or the stable point of retraining

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The parameters that may be left out, with their values."""
        return {name: p.default for name, p in self._accepted.items() if p.default is not p.empty}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the numbers that `build` takes."""
        return tuple(self._accepted)

    @cached_property
    def _accepted(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.build).parameters

    def built(self, **numbers: Any) -> Method:
        """The method with these numbers, each checked. Methods of others check their own."""
        common = {name: one.check for name, one in COMMON.items()} if self.provider == OWN else {}
        for name, check in {**common, **self.checks}.items():
            left_out = numbers.get(name) is None and self.defaults.get(name) is None
            if name in numbers and not left_out:
                numbers[name] = check(name, numbers[name])
        if common:
            check_box(numbers.get("low"), numbers.get("high"))
        return self.build(**numbers)

    @cached_property
    def tried(self) -> Method | None:
        """The method of the example's numbers; None if they do not build it."""
        try:
            return self.built(**self.example)
        except Exception:  # code of a package, without the numbers that only its user knows
            return None

    @property
    def sees(self) -> Sight | None:
        """The kind of oracle that the method needs; None if its example's numbers do not build it."""
        return None if self.tried is None else self.tried.sees

    @property
    def sees_words(self) -> str:
        """The kind of oracle in words, as the object of "sees"."""
        return "what its numbers decide" if self.sees is None else self.sees.words

    def described(self) -> list[Described]:
        """Every parameter with its default and meaning, in the method's order."""
        from docstring_parser import DocstringStyle, parse

        # A class describes the parameters that it shares with others in a class above it.
        homes = reversed(self.build.__mro__) if isinstance(self.build, type) else [self.build]
        own: dict[str, str] = {}
        for home in homes:
            for one in parse(inspect.getdoc(home) or "", DocstringStyle.GOOGLE).params:
                own[one.arg_name] = " ".join((one.description or "").split())
        common = {name: one.meaning for name, one in COMMON.items()}
        meanings = {name: own.get(name) or common.get(name, "") for name in self.parameters}
        return [
            Described(name, name not in self.defaults, self.defaults.get(name), text[:1].upper() + text[1:])
            for name, text in meanings.items()
        ]


def entry_of(build: Any, provider: str, summary: str = "", example: Mapping[str, Any] | None = None) -> Entry:
    """The entry of a package's or a user's method; `build` may be one, or a function or class that builds it.

    The summary is the first line of its docstring by default.
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
    return Entry(cast(Any, build), text, checks.table("example", example), provider=provider)
