"""Randomness: seeds and keys (`seeds`), and the vectorised generator behind them (`threefry`)."""
