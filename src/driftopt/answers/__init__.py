"""What is made of an answer before a method is told: the way in."""

from driftopt.answers.answers import Answers
from driftopt.answers.beside import Beside
from driftopt.answers.step import Answer, Peers, Told, Verdict

__all__ = ["Answer", "Answers", "Beside", "Peers", "Told", "Verdict"]
