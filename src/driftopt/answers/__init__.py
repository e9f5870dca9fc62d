"""The steps between reported answers and the values that a method learns from."""

from driftopt.answers.answers import Answers
from driftopt.answers.beside import Beside
from driftopt.answers.step import Answer, Told, Verdict

__all__ = ["Answer", "Answers", "Beside", "Told", "Verdict"]
