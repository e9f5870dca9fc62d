"""The share of the paper's protocol that a run does; every output names it."""

from collections.abc import Sequence
from dataclasses import dataclass

from driftopt import checks
from driftopt.report.numbers import counted, listed


@dataclass(frozen=True)
class Scope:
    """By default the full protocol; an argument replaces the paper's number.

    Args:
        quick: fewer seeds and configurations, chosen beforehand.
        methods: names of the protocol's methods, all if None.
        development: development runs a configuration.
        held_out: held-out runs of each selected configuration.
        budget: queries a run.
    """

    quick: bool = False
    methods: tuple[str, ...] | None = None
    development: int | None = None
    held_out: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        for name in ("development", "held_out", "budget"):
            if getattr(self, name) is not None:
                checks.count(name, getattr(self, name))
        if self.methods is not None and not self.methods:
            raise ValueError("methods must name at least one method")

    def changes(self, other_instances: Sequence[str] = ()) -> list[str]:
        """The differences from the paper's protocol in words; `other_instances` describes other instances."""
        words = list(other_instances)
        if self.methods is not None:
            words.append(f"methods {listed(list(self.methods))} alone")
        if self.development is not None:
            words.append(counted(self.development, "development run"))
        if self.held_out is not None:
            words.append(counted(self.held_out, "held-out run"))
        if self.budget is not None:
            words.append(f"a budget of {self.budget:,} queries")
        return words
