"""`driftopt reproduce`: the paper's experiments."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def reproduce(
    *,
    out: Path = Path("results/full"),
    quick: bool = False,
    only: Literal["strategic", "pricing"] | None = None,
    splits: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    weeks: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    data: Literal["auto", "real", "stand-in"] = "auto",
) -> None:
    """Run the paper's whole experiment section and say how its numbers compare.

    Writes tables, figures, results and report.html into one folder. Interrupted, the same command goes on
    from the finished parts.

    Parameters
    ----------
    out
        The folder for everything that is made.
    quick
        A smaller honest version, named so in every output; into results/quick unless told otherwise.
    only
        One of the two experiments.
    splits
        Some of the paper's splits 101 102 103 104.
    weeks
        Some of the weeks 2022-08 2022-12 2022-21 2022-25.
    data
        auto: real where it is there or can be fetched, else stand-ins; real: or fail; stand-in: generated.
    """
    from driftopt.paper import protocol
    from driftopt.paper.reproduction import reproduce
    from driftopt.runtime.jax_settings import prepare

    prepare()
    if quick and out == Path("results/full"):
        out = Path("results/quick")
    made = reproduce(
        out,
        quick=quick,
        only=only,
        splits=splits or protocol.SPLITS,
        weeks=weeks or protocol.WEEKS,
        data=data,
        say=lambda sentence: print(sentence, file=sys.stderr, flush=True),
        command="driftopt " + " ".join(sys.argv[1:]) if sys.argv[1:] else "driftopt reproduce",
    )
    for summary in made.summaries:
        source = summary.experiment.provenance.source
        print(f"\n{summary.experiment.title} ({made.manifest['protocol']}, {source})")
        for finding in made.findings[summary.experiment.name]:
            print(f"  {'yes' if finding.holds else 'NO '}  {finding.claim}: {finding.detail}")
    print(f"\nTables, figures and the report are in {out} (open {out / 'report.html'})")
