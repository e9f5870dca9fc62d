"""Methods on your own problem, judged with statistics."""

from driftopt.comparison.comparison import Comparison, Contrast, Score, compare

__all__ = ["Comparison", "Contrast", "Score", "compare"]
