"""The methods by name: `get("zo-o2nc-2pt", radius=0.5)`, `names()`, `describe()`."""

from driftopt.method import Method
from driftopt.methods.auto import Auto
from driftopt.methods.o2nc import O2NC
from driftopt.methods.registry import Entry, describe, entry, get, names
from driftopt.methods.sgd import SGD

__all__ = ["O2NC", "SGD", "Auto", "Entry", "Method", "describe", "entry", "get", "names"]
