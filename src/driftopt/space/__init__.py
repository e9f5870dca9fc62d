"""The space of decisions, and the steps from a method's point to the decision to deploy."""

from driftopt.space.space import Space

__all__ = ["Space"]
