"""`driftopt reproduce`: the paper's experiments."""

import sys
from pathlib import Path
from typing import Literal

from driftopt.cli.arguments import Flag, Words


def reproduce(
    *,
    out: Path | None = None,
    quick: Flag = False,
    only: Literal["strategic", "pricing"] | None = None,
    splits: Words = None,
    weeks: Words = None,
    methods: Words = None,
    seeds: int | None = None,
    development: int | None = None,
    budget: int | None = None,
    fresh: Flag = False,
    data: Literal["auto", "real", "stand-in"] = "auto",
) -> None:
    """Run the paper's whole experiment section and compare its numbers.

    The command writes tables, figures, results and report.html into one folder. If you interrupt it, give it
    again to continue from the finished parts. Every output names the protocol: full, quick or partial.

    ```text
    driftopt reproduce
    driftopt reproduce --quick
    driftopt reproduce --only pricing --weeks 2022-08 --methods zo-o2nc-2pt auto
    ```

    Args:
        out: the folder for all output; by default results/full, results/quick or results/partial.
        quick: fewer seeds and configurations.
        only: one of the two experiments.
        splits: splits of the credit data for the strategic experiment, by the seeds that draw them; the paper
            has 101 102 103 104.
        weeks: some of the weeks 2022-08 2022-12 2022-21 2022-25, for the pricing experiment.
        methods: some of the methods zo-co zo-sph zo-ga zo-og zo-o2nc-2pt zo-o2nc-1pt auto.
        seeds: held-out runs for each figure, instead of 20 (pricing: 10).
        development: development runs for each configuration, instead of 5 (pricing: 3).
        budget: queries a run, instead of 30,000 (pricing: 5,000).
        fresh: compute every part again, whatever the folder holds.
        data: real data or an error (real), synthetic data (stand-in), or real data if it is there or can be
            fetched, else synthetic (auto).
    """
    from driftopt import checks
    from driftopt.packages import require_report_packages

    require_report_packages("driftopt reproduce")
    print("Loading JAX and the data …", file=sys.stderr, flush=True)  # takes the first seconds
    from driftopt.paper import protocol
    from driftopt.paper.reproduction import reproduce
    from driftopt.paper.scope import Scope
    from driftopt.runtime.jax_settings import prepare
    from driftopt.sweep.progress import reused_parts

    prepare()
    chosen = _words("methods", methods)
    if seeds is not None:
        checks.count("--seeds", seeds)
    scope = Scope(quick, None if chosen is None else tuple(chosen), development, seeds, budget)
    wanted = _words("splits", splits), _words("weeks", weeks)
    whole = all(
        some is None or tuple(some) == every
        for some, every in zip(wanted, (protocol.SPLITS, protocol.WEEKS), strict=True)
    )
    # results/full is only for the full protocol.
    name = "partial" if scope.changes() or not whole else "quick" if quick else "full"
    folder = out or Path("results") / name
    reproduction = reproduce(
        folder,
        scope=scope,
        only=only,
        splits=wanted[0],
        weeks=wanted[1],
        data=data,
        fresh=fresh,
        say=lambda sentence: print(sentence, file=sys.stderr, flush=True),
        command="driftopt " + " ".join(sys.argv[1:]) if sys.argv[1:] else "driftopt reproduce",
    )
    for summary in reproduction.summaries:
        source = summary.experiment.provenance.source
        print(f"\n{summary.experiment.title} ({reproduction.manifest['protocol']}; data: {source})")
        for finding in reproduction.findings[summary.experiment.name]:
            print(f"  {finding.verdict:<14}  {finding.claim}: {finding.detail}")
    sweeps = [s for parts in reproduction.manifest["experiments"].values() for s in parts.values()]
    print(f"\n{reused_parts(sweeps, folder)}")
    print(f"Tables, figures and the report are in {folder} (open {folder / 'report.html'})")


def _words(name: str, given: list[str] | None) -> list[str] | None:
    """The words of an option, given one by one or separated by commas."""
    if given is None:
        return None
    words = [word.strip() for text in given for word in text.split(",")]
    if not all(words):
        raise ValueError(
            f"--{name} must be words with spaces or commas between them; got {' '.join(given)!r}"
        )
    return words
