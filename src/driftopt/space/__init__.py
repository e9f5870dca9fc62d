"""What a decision may be: the way out, from a method's point to the decision to deploy."""

from driftopt.space.space import Space

__all__ = ["Space"]
