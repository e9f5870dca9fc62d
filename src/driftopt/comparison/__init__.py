"""Methods on your own problem, judged with statistics."""

from driftopt.comparison.comparison import Comparison, compare
from driftopt.comparison.judging import Contrast, Score

__all__ = ["Comparison", "Contrast", "Score", "compare"]
