"""Randomness: seeds and keys (`seeds`), and the vectorised generator behind them (`threefry`)."""

from driftopt.rng.seeds import lane_seed

__all__ = ["lane_seed"]
