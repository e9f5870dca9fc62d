"""`driftopt plan`: the theorems as arithmetic."""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from driftopt.cli.arguments import Flag

# Constants of a problem, each an option.
_MEANS = {
    "lipschitz": "L: |f(x) − f(y)| ≤ L‖x − y‖",
    "noise": "σ, the standard deviation of one value of F",
    "gap": "γ = f(x₀) − inf f",
    "epsilon": "ε, how stationary the reported point must be",
    "delta": "δ, the radius of the Goldstein subdifferential; with --smooth or --hessian the theorem sets it",
    "smooth": "L_g, where the gradient of f is L_g-Lipschitz",
    "data_lipschitz": "L_ξ, for zo-ogvr: F is L_ξ-Lipschitz in ξ",
    "shift": "α, for zo-ogvr: Ξ moves by at most α when the decision moves by 1",
    "mixing": "the share of its state that the world keeps from one deployment to the next",
    "bound": "B, for zo-epoch: |F| ≤ B",
}
# A theorem need not use all of these.
_ANYWHERE = ("lipschitz", "noise", "gap", "epsilon")
_SAME = ("lipschitz", "gap", "epsilon", "delta")
_GUIDED = ("smooth", "noise", "gap", "epsilon")
_THEOREMS = {  # a method's name → its function in theory, and the constants that it takes
    "gfm": ("gfm", _SAME),
    "gfm+": ("gfm_plus", _SAME),
    "zo-o2nc-same": ("o2nc_same", _SAME),
    "gzo-ns": ("guided", _GUIDED),
    "gzo-hs": ("guided", _GUIDED),
    "hlf-szo": ("hlf", ("lipschitz", "smooth", "gap", "epsilon")),
    "zo-ogvr": ("ogvr", ("data_lipschitz", "shift", "noise", "smooth", "epsilon")),
    "zo-ga-scheduled": ("ogvr_pair", ("smooth", "epsilon")),
    "zo-epoch": ("epochs", ("mixing", "bound", *_SAME)),
    "dfo": ("dfo", ("mixing",)),
}
_Named = Literal[tuple(_THEOREMS)]  # pyright: ignore[reportInvalidTypeForm]


def plan(
    *,
    dim: int,
    option: Literal["I", "II"] = "I",
    hessian: float | None = None,
    sgd: Flag = False,
    method: _Named | None = None,  # pyright: ignore[reportInvalidTypeForm]
    paper: Flag = False,
    compare: Flag = False,
    **given: float | None,
) -> None:
    """Print what the theorems require: block, step, radius and the number of queries.

    A theorem gives the queries until the reported point is (δ, ε)-stationary, and the numbers for it.

    ```text
    driftopt plan --dim 9 --lipschitz 1 --noise 1 --gap 1 --epsilon 0.1 --delta 1
    driftopt plan --dim 9 --lipschitz 1 --noise 1 --gap 1 --epsilon 0.1 --smooth 2
    driftopt plan --dim 9 --noise 1 --gap 1 --epsilon 0.5 --smooth 2 --method gzo-hs
    ```

    Args:
        dim: d, the length of a decision.
        option: two points an iteration (I) or one (II).
        hessian: L_H, where the Hessian of f is L_H-Lipschitz.
        sgd: plan mini-batch two-point SGD instead of O2NC.
        method: plan another method of the field instead. For methods that see two values under the same ξ
            (gfm, gfm+, zo-o2nc-same) L is that of F(·; ξ) for every ξ, and the noise does not matter.
        paper: the theorem's own counts, with radius δ. They bound the mean of smoothed gradients; a Goldstein
            stationary point at δ takes radius δ/2, which is the default.
        compare: print the published orders of the paper's Table 1 at these numbers too.
    """
    from driftopt import theory

    given = dict[str, float | None].fromkeys(_MEANS) | given
    delta = given["delta"]
    kinds = [
        flag
        for flag, used in (
            ("--smooth", given["smooth"] is not None and method is None),
            ("--hessian", hessian is not None),
            ("--sgd", sgd),
            ("--method", method is not None),
        )
        if used
    ]
    if len(kinds) > 1:
        raise ValueError(f"choose one of {' and '.join(kinds)}: each plans for another theorem")
    if delta is not None and kinds in (["--smooth"], ["--hessian"]):
        raise ValueError(f"--delta and {kinds[0]} exclude each other: with {kinds[0]} the theorem sets δ")
    if paper and kinds:
        raise ValueError(f"--paper is about O2NC at a given --delta: leave it or {kinds[0]} out")
    if kinds in (["--sgd"], ["--method"]) and option == "II":
        raise ValueError(f"--option chooses between the two estimators of O2NC; {kinds[0]} has one")
    if method is not None:
        planned = _named(method, dim, given)
    else:
        problem = {"dim": dim, **_taken(given, _ANYWHERE, ("delta", "smooth"), "O2NC")}
        if given["smooth"] is not None:
            planned = theory.smooth(option=option, gradient_lipschitz=given["smooth"], **problem)
        elif hessian is not None:
            planned = theory.hessian_lipschitz(option=option, hessian_lipschitz=hessian, **problem)
        elif delta is None:
            raise ValueError(
                "--delta is needed, the radius δ of the Goldstein subdifferential (or --smooth, --hessian)"
            )
        elif sgd:
            planned = theory.minibatch_sgd(delta=delta, **problem)
        else:
            planned = theory.o2nc(option=option, delta=delta, goldstein=not paper, **problem)
    print(planned)
    if compare:
        epsilon = _taken(given, ("epsilon",), tuple(given), "--compare")["epsilon"]
        print(f"\n{theory.compare(dim, epsilon, delta or planned.radius)}")


_dim, *_choices, _ = inspect.signature(plan).parameters.values()
_constants = [
    _dim.replace(name=name, default=None, annotation=Annotated[float | None, Parameter(help=f"{means}.")])
    for name, means in _MEANS.items()
]
_command: Any = plan
_command.__signature__ = inspect.Signature([_dim, *_constants, *_choices])
_command.__annotations__ = {one.name: one.annotation for one in [_dim, *_constants, *_choices]}


def _named(method: str, dim: int, given: Mapping[str, float | None]) -> Any:
    """The plan of one of the field's methods."""
    from driftopt import theory

    function, needs = _THEOREMS[method]
    numbers = _taken(given, needs, _ANYWHERE, f"--method {method}")
    if "smooth" in numbers:
        numbers["gradient_lipschitz"] = numbers.pop("smooth")
    if function == "guided":
        numbers["history"] = method == "gzo-hs"
    return getattr(theory, function)(dim=dim, **numbers)


def _taken(
    given: Mapping[str, float | None], needs: tuple[str, ...], also: tuple[str, ...], who: str
) -> dict[str, Any]:
    """The constants that a theorem takes; missing and unused ones are refused, except `also`."""
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if name in needs and value is None:
            raise ValueError(f"{flag} is needed for {who}: {_MEANS[name]}")
        if value is not None and name not in (*needs, *also):
            raise ValueError(f"{flag} plays no part in {who}: leave it out")
    return {name: given[name] for name in needs}
