"""The theorems as arithmetic: the problem's constants in, parameters and query counts out.

    d dim   L lipschitz   σ noise   γ gap = f(x_0) − f*   ε epsilon   δ delta

>>> plan = o2nc(dim=12, lipschitz=1, noise=0.5, gap=1, epsilon=0.1, delta=0.5)
>>> plan.block, plan.blocks, plan.queries
(1230837, 100, 246167400)

Counts are exact: inputs are read as the decimals they print as (0.1 is 1/10), rational expressions stay
fractions, and the two irrational ones (√(2π), a square root) carry 100 digits. Nothing here imports JAX
until a plan is asked for its method.
"""

from driftopt.theory.complexities import COMPLEXITIES, SETTINGS, Complexity, ComplexityTable, compare
from driftopt.theory.field_plans import FieldPlan, dfo, epochs, gfm, gfm_plus, o2nc_same
from driftopt.theory.plans import Plan, hessian_lipschitz, minibatch_sgd, o2nc, smooth
from driftopt.theory.smooth_plans import guided, hlf, ogvr, ogvr_pair

__all__ = [
    "COMPLEXITIES",
    "SETTINGS",
    "Complexity",
    "ComplexityTable",
    "FieldPlan",
    "Plan",
    "compare",
    "dfo",
    "epochs",
    "gfm",
    "gfm_plus",
    "guided",
    "hessian_lipschitz",
    "hlf",
    "minibatch_sgd",
    "o2nc",
    "o2nc_same",
    "ogvr",
    "ogvr_pair",
    "smooth",
]
