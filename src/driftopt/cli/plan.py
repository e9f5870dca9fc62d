"""`driftopt plan`: the theorems as arithmetic."""

from typing import Any, Literal

from driftopt.cli.arguments import Flag


def plan(
    *,
    dim: int,
    lipschitz: float,
    noise: float,
    gap: float,
    epsilon: float,
    delta: float | None = None,
    option: Literal["I", "II"] = "I",
    smooth: float | None = None,
    hessian: float | None = None,
    sgd: Flag = False,
    method: Literal["gfm", "gfm+"] | None = None,
    paper: Flag = False,
    compare: Flag = False,
) -> None:
    """Say what the theorems ask for: block, step, radius and the number of queries.

    A theorem answers: how many queries until the reported point is (δ, ε)-stationary, and with which numbers.

    ```text
    driftopt plan --dim 9 --lipschitz 1 --noise 1 --gap 1 --epsilon 0.1 --delta 1
    driftopt plan --dim 9 --lipschitz 1 --noise 1 --gap 1 --epsilon 0.1 --smooth 2
    ```

    Args:
        dim: d, the length of a decision.
        lipschitz: L: |f(x) − f(y)| ≤ L‖x − y‖.
        noise: σ, the standard deviation of one value of F.
        gap: γ = f(x₀) − inf f.
        epsilon: ε, how stationary the reported point must be.
        delta: δ, the radius of the Goldstein subdifferential; with --smooth or --hessian the theorem sets it.
        option: Two points an iteration (I) or one (II).
        smooth: L_g, where the gradient of f is L_g-Lipschitz.
        hessian: L_H, where the Hessian of f is L_H-Lipschitz.
        sgd: Plan mini-batch two-point SGD instead of O2NC.
        method: Plan a method that sees two values under the same ξ instead: there L is that of F(·; ξ) for
            every ξ, and the noise plays no part.
        paper: The theorem's own counts, with radius δ. They bound the mean of smoothed gradients; a Goldstein
            stationary point at δ takes radius δ/2, which is the default.
        compare: Print the published orders of the paper's Table 1 at these numbers too.
    """
    from driftopt import theory

    problem: dict[str, Any] = {
        "dim": dim,
        "lipschitz": lipschitz,
        "noise": noise,
        "gap": gap,
        "epsilon": epsilon,
    }
    kinds = [
        flag
        for flag, given in (
            ("--smooth", smooth),
            ("--hessian", hessian),
            ("--sgd", sgd or None),
            ("--method", method),
        )
        if given
    ]
    _check(kinds, delta, option, paper)
    if smooth is not None:
        planned = theory.smooth(option=option, gradient_lipschitz=smooth, **problem)
    elif hessian is not None:
        planned = theory.hessian_lipschitz(option=option, hessian_lipschitz=hessian, **problem)
    elif delta is None:
        raise ValueError(
            "--delta is needed, the radius δ of the Goldstein subdifferential (or --smooth, --hessian)"
        )
    elif method is not None:
        del problem["noise"]
        same_sample = {"gfm": theory.gfm, "gfm+": theory.gfm_plus}[method]
        planned = same_sample(delta=delta, **problem)
    elif sgd:
        planned = theory.minibatch_sgd(delta=delta, **problem)
    else:
        planned = theory.o2nc(option=option, delta=delta, goldstein=not paper, **problem)
    print(planned)
    if compare:
        print()
        print(theory.compare(dim, epsilon, delta or planned.radius))


def _check(kinds: list[str], delta: float | None, option: str, paper: bool) -> None:
    """Refuse flags that belong to different theorems."""
    if len(kinds) > 1:
        raise ValueError(f"choose one of {' and '.join(kinds)}: each plans for another theorem")
    if delta is not None and kinds in (["--smooth"], ["--hessian"]):
        raise ValueError(f"--delta and {kinds[0]} exclude each other: with {kinds[0]} the theorem sets δ")
    if paper and kinds:
        raise ValueError(f"--paper is about O2NC at a given --delta: leave it or {kinds[0]} out")
    if kinds in (["--sgd"], ["--method"]) and option == "II":
        raise ValueError(f"--option chooses between the two estimators of O2NC; {kinds[0]} has one")
