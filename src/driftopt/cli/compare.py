"""`driftopt compare`: methods on your own problem."""

import sys
from pathlib import Path

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

    Methods are tuned on development runs, scored on others, and ranked. A difference that may be luck is a
    tie. If you interrupt the command, give it again to continue from the finished parts.

    ```text
    driftopt compare my_problem.toml
    driftopt compare my_problem.toml --plan
    driftopt compare my_problem.toml --out results/again --fresh
    ```

    Args:
        file: TOML with the problem, the methods with the values to try, and the budget;
            https://driftopt.github.io/driftopt/compare.html shows examples. It is code: the modules that it
            names are imported and run.
        out: the folder for tables, results and report.html; by default results/NAME-OF-THE-FILE.
        fresh: compute every part again, whatever the folder holds.
        plan: print the cost first, from a pilot of a second or two; then ask, on a terminal, or stop. A
            comparison of more than ten minutes or a gigabyte is always asked about.
        yes: start without the question.
        allow_module: an installed package that the file may name, once for each. Modules in the file's
            folder need no permission.
    """
    from driftopt import checks
    from driftopt.comparison import files
    from driftopt.comparison.comparison import compare
    from driftopt.comparison.comparison import plan as planned
    from driftopt.comparison.config_file import read
    from driftopt.packages import INSTALL_REPORT, missing_report_packages
    from driftopt.report.numbers import listed
    from driftopt.runtime.jax_settings import prepare
    from driftopt.sweep.planning import ask_to_start, confirm
    from driftopt.sweep.progress import reused_parts

    prepare()
    arguments = read(file, allow_module or ())
    if plan:
        cost = planned(**arguments)
        if not yes and sys.stdin.isatty():
            if not ask_to_start(cost):
                return
        else:
            print(cost, flush=True)
            if not yes:
                print("Nothing was started: give the command without --plan, or with --yes, to start.")
                return
    if not (plan or yes) and planned(**arguments, pilot=False).large:
        confirm(planned(**arguments), "give --yes to start it without being asked")
    folder = Path("results") / file.stem if out is None else checks.path("--out", out)
    if missing := missing_report_packages():
        print(
            f"no report.html, pictures and results, and no parts to continue from: {listed(missing)} not "
            f"installed; the tables need nothing more. To have everything: {INSTALL_REPORT}",
            file=sys.stderr,
        )
    kept = None if "polars" in missing else folder
    comparison = compare(**arguments, folder=kept, fresh=fresh, progress=True)
    if missing:
        files.write_text(comparison, folder)
    else:
        comparison.write(folder)
    print(comparison)
    print(reused_parts(list(comparison.tuned.manifest.values()), folder))
    written = "The tables are in" if missing else "Everything is in"
    print(f"{written} {folder}" + ("" if missing else f" (open {folder / 'report.html'})"))
