"""`driftopt methods`, `driftopt plan` and `driftopt demo`."""

from pathlib import Path
from typing import Any, Literal


def methods() -> None:
    """List the methods: name, parameters and what each one is."""
    from rich.console import Console
    from rich.table import Table

    from driftopt import methods as registry

    table = Table("name", "parameters", "what it is")
    for name in registry.names():
        line = registry.entry(name)
        table.add_row(name, ", ".join(line.parameters), line.summary)
    Console().print(table)


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
    sgd: bool = False,
    compare: bool = False,
) -> None:
    """Say what the theorems ask for: block, step, radius and the number of queries.

    Parameters
    ----------
    dim
        d, the length of a decision.
    lipschitz
        L: |f(x) − f(y)| ≤ L‖x − y‖.
    noise
        σ, the standard deviation of one value of F.
    gap
        γ = f(x₀) − inf f.
    epsilon
        ε, how stationary the reported point must be.
    delta
        δ, the radius of the Goldstein subdifferential; with --smooth or --hessian the theorem sets it.
    option
        Two points an iteration (I) or one (II).
    smooth
        L_g, where the gradient of f is L_g-Lipschitz.
    hessian
        L_H, where the Hessian of f is L_H-Lipschitz.
    sgd
        Plan mini-batch two-point SGD instead of O2NC.
    compare
        Print the published orders of the paper's Table 1 at these numbers too.
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
        for flag, given in (("--smooth", smooth), ("--hessian", hessian), ("--sgd", sgd or None))
        if given
    ]
    if len(kinds) > 1:
        raise ValueError(f"choose one of {' and '.join(kinds)}: each plans for another theorem")
    if delta is not None and kinds in (["--smooth"], ["--hessian"]):
        raise ValueError(f"--delta and {kinds[0]} exclude each other: with {kinds[0]} the theorem sets δ")
    if sgd and option == "II":
        raise ValueError("--option chooses between the two estimators of O2NC; --sgd has one")
    if smooth is not None:
        made = theory.smooth(option=option, gradient_lipschitz=smooth, **problem)
    elif hessian is not None:
        made = theory.hessian_lipschitz(option=option, hessian_lipschitz=hessian, **problem)
    elif delta is None:
        raise ValueError(
            "--delta is needed, the radius δ of the Goldstein subdifferential (or --smooth, --hessian)"
        )
    elif sgd:
        made = theory.minibatch_sgd(delta=delta, **problem)
    else:
        made = theory.o2nc(option=option, delta=delta, **problem)
    print(made)
    if compare:
        print()
        print(theory.compare(dim, epsilon, delta or made.radius))


def demo(*, out: Path = Path("demo.png"), seed: int = 0) -> None:
    """Run every method on a problem with known answers; print a table and save a plot. Under a minute.

    Parameters
    ----------
    out
        Where the plot goes: a file name ending in .png, .pdf or .svg.
    seed
        Another seed is another instance and other runs.
    """
    if out.suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--out must end in .png, .pdf or .svg; got {out}")
    if not out.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {out.parent} does not exist; make it first, or choose another --out"
        )
    if seed < 0:
        raise ValueError(f"--seed must be a whole number >= 0, got {seed}")

    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    from driftopt import demonstration
    from driftopt import methods as registry
    from driftopt.machine import prepare

    prepare()
    total = len(registry.names())
    scores = list(
        track(demonstration.run(seed), "Running", total, console=Console(stderr=True), transient=True)
    )
    console = Console()
    table = Table("method", "step", "f at the end", "queries a run")
    for score in sorted(scores, key=lambda score: score.final.mean()):
        step = "its own" if score.step is None else f"{score.step:.2g}"
        table.add_row(score.name, step, str(score), f"{score.queries:,}")
    console.print(table)
    console.print(
        f"Two wells in each of {demonstration.DIM} dimensions; the minimum of f is 0. Mean ± sd of "
        f"{demonstration.SCORED} runs, each step chosen on {demonstration.DEVELOPMENT} other runs."
    )
    try:
        demonstration.plot(scores, out)
    except ModuleNotFoundError:
        console.print("No plot: matplotlib is missing. Install it with: pip install 'driftopt\\[plot]'")
    else:
        console.print(f"The curves are in {out}", soft_wrap=True)
