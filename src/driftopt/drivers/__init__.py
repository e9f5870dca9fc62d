"""Whoever holds the oracle: `simulate` a Problem, or `minimize` a Python function."""
