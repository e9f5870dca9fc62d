"""`driftopt demo`: a first look, in a quarter of a minute."""

from pathlib import Path


def demo(*, out: Path = Path("demo.png"), seed: int = 0) -> None:
    """Run the paper's methods and auto on a small problem with a known answer.

    The command prints a table and saves a plot of the objective against queries. Methods with a step size
    choose it on development runs; all are scored on other runs. It takes about 15 seconds.

    ```text
    driftopt demo
    ```

    Args:
        out: the plot's file name, ending in .png, .pdf or .svg.
        seed: another seed gives another instance and other runs.
    """
    if out.suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"--out must end in .png, .pdf or .svg; got {out}")
    if not out.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {out.parent} does not exist; make it first, or choose another --out"
        )
    if not 0 <= seed < 2**63:
        raise ValueError(f"--seed must be a whole number >= 0 and below 2^63, got {seed}")

    from rich.console import Console

    from driftopt.cli import demo_runs
    from driftopt.runtime.jax_settings import prepare

    prepare()
    scores = sorted(demo_runs.with_progress(demo_runs.run(seed)), key=lambda score: score.final.mean())
    console = Console()
    demo_runs.show(scores, console)
    try:
        demo_runs.plot(scores, out)
    except ModuleNotFoundError:
        console.print("No plot: matplotlib is missing. Install it with: pip install 'driftopt\\[plot]'")
    else:
        console.print(f"The curves are in {out}", soft_wrap=True)
