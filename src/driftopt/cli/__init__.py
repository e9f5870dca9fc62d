"""The command line: argument parsing only. Commands live one file a command and load when called."""

import os
import sys

from cyclopts import App, CycloptsError

import driftopt
from driftopt.packages import MissingPackage

# Set before NumPy loads: our linear algebra is small, and BLAS's threads would only take cores from JAX.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = App(
    name="driftopt",
    version=driftopt.__version__,
    help="Optimisation when the decision changes the data.",
    suppress_keyboard_interrupt=False,  # `main` says so, and ends at once
)
# A help line here is what `driftopt --help` shows without importing the command.
app.command("driftopt.cli.methods:methods", name="methods", help="List the methods.")
app.command("driftopt.cli.plan:plan", name="plan", help="Say what the theorems ask for.")
app.command(
    "driftopt.cli.demo:demo", name="demo", help="Run the paper's methods and auto on a small problem."
)
app.command("driftopt.cli.data:app", name="data", help="Fetch and check the real data.")
app.command(
    "driftopt.cli.reproduce:reproduce", name="reproduce", help="Run the paper's whole experiment section."
)
app.command("driftopt.cli.compare:compare", name="compare", help="Compare methods on your own problem.")
app.command("driftopt.cli.study:app", name="study", help="Ask and tell on a live system, through a database.")


def main() -> None:
    """Run the command line; a user's mistake is a sentence on stderr and exit code 2, not a traceback."""
    try:
        app(sys.argv[1:], exit_on_error=False)
    except CycloptsError:
        sys.exit(2)  # cyclopts has printed its sentence
    except (ValueError, FileNotFoundError, PermissionError, MissingPackage) as error:
        print(f"driftopt: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("driftopt: interrupted", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(
            130
        )  # a tidy exit may crash in threads that JAX was just starting; everything kept is on disk
