"""The loops between a method and an oracle: `simulate` a Problem, or `minimize` a Python function."""
