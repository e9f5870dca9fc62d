"""Methods by name: `get("zo-o2nc-2pt", radius=0.5)`, `names()`; `register` adds yours."""

from driftopt.packages import needs_jax

with needs_jax("driftopt.methods"):
    from driftopt.method import Method
    from driftopt.methods.entry import Entry
    from driftopt.methods.grids import Grid, grid
    from driftopt.methods.informed import Informed, informed
    from driftopt.methods.o2nc import O2NC
    from driftopt.methods.registry import describe, entry, get, names, register
    from driftopt.methods.sgd import SGD
    from driftopt.methods.walk import Walk

__all__ = [
    "O2NC",
    "SGD",
    "Entry",
    "Grid",
    "Informed",
    "Method",
    "Walk",
    "describe",
    "entry",
    "get",
    "grid",
    "informed",
    "names",
    "register",
]
