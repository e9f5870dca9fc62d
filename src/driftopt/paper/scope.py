"""How much of the paper's protocol a run does, and how every output says so."""

from collections.abc import Sequence
from dataclasses import dataclass

from driftopt import checks
from driftopt.report.numbers import counted, listed


@dataclass(frozen=True)
class Scope:
    """The full protocol unless told otherwise; what is given takes the place of the paper's number.

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
        """What differs from the paper's protocol, in words; `other_instances` names other ones than its."""
        out = list(other_instances)
        if self.methods is not None:
            out.append(f"methods {listed(list(self.methods))} alone")
        if self.development is not None:
            out.append(counted(self.development, "development run"))
        if self.held_out is not None:
            out.append(counted(self.held_out, "held-out run"))
        if self.budget is not None:
            out.append(f"a budget of {self.budget:,} queries")
        return out
