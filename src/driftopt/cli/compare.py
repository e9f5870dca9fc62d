"""`driftopt compare`: methods on your own problem."""

import sys
from pathlib import Path
from typing import Any

from driftopt.cli.arguments import Flag, Repeated


def compare(
    file: Path,
    /,
    *,
    out: Path | None = None,
    fresh: Flag = False,
    plan: Flag = False,
    yes: Flag = False,
    allow_module: Repeated = None,
) -> None:
    """Compare methods on your own problem, from a TOML file, with intervals and tests.

    Methods are tuned on development runs, scored on others, and ranked; a difference that may be luck is
    called undecided. Interrupted, the same command goes on from the finished parts.

    ```text
    driftopt compare my_problem.toml
    driftopt compare my_problem.toml --plan
    driftopt compare my_problem.toml --out results/again --fresh
    ```

    Args:
        file: TOML that says what to compare: problem, methods with the values to try, budget;
            https://driftopt.github.io/driftopt/compare.html shows examples. It is code: the modules that it
            names are imported and run.
        out: the folder for tables, results and report.html; results/NAME-OF-THE-FILE unless told otherwise.
        fresh: run every part again, whatever the folder holds.
        plan: say first what it will take, from a pilot of a second or two; then ask, on a terminal, or stop.
            What takes more than ten minutes or a gigabyte is asked about without it, too.
        yes: start without being asked.
        allow_module: an installed package that the file may name, once for each. Modules beside the file
            need none.
    """
    from driftopt import checks
    from driftopt.comparison import files
    from driftopt.comparison.comparison import compare
    from driftopt.comparison.comparison import plan as planned
    from driftopt.comparison.config_file import read
    from driftopt.packages import INSTALL_REPORT, missing_report_packages
    from driftopt.report.numbers import listed
    from driftopt.runtime.jax_settings import prepare
    from driftopt.sweep.planning import confirm
    from driftopt.sweep.progress import reuse_reported_at_the_end, reused_parts

    prepare()
    arguments = read(file, allow_module or ())
    if plan and not _confirmed(planned(**arguments), yes):
        return
    if not (plan or yes) and planned(**arguments, pilot=False).large:
        confirm(planned(**arguments), "give --yes to start it without being asked")
    folder = Path("results") / file.stem if out is None else checks.path("--out", out)
    if missing := missing_report_packages():
        print(
            f"no report.html, pictures and results: {listed(missing)} not installed; the tables need nothing "
            f"more. To have everything: {INSTALL_REPORT}",
            file=sys.stderr,
        )
    with reuse_reported_at_the_end():
        comparison = compare(**arguments, folder=folder, fresh=fresh, progress=True)
    if missing:
        files.write_text(comparison, folder)
    else:
        comparison.write(folder)
    print(comparison)
    print(reused_parts(list(comparison.tuned.manifest.values()), folder))
    written = "The tables are in" if missing else "Everything is in"
    print(f"{written} {folder}" + ("" if missing else f" (open {folder / 'report.html'})"))


def _confirmed(plan: Any, yes: bool) -> bool:
    """Whether to start, once it is said what it will take."""
    from driftopt.sweep.planning import ask_to_start

    if not yes and sys.stdin.isatty():
        return ask_to_start(plan)
    print(plan, flush=True)
    if not yes:
        print("Nothing was started: give the command without --plan, or with --yes, to start.")
    return yes
