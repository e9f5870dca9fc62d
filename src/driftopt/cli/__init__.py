"""The command line: argument parsing only. Commands live one file a family and load when called."""

import sys

from cyclopts import App, CycloptsError

import driftopt

app = App(
    name="driftopt", version=driftopt.__version__, help="Optimisation when the decision changes the data."
)
# A help line here is what `driftopt --help` shows without importing the command.
app.command("driftopt.cli.core:methods", name="methods", help="List the methods.")
app.command("driftopt.cli.core:plan", name="plan", help="Say what the theorems ask for.")
app.command("driftopt.cli.core:demo", name="demo", help="Run every method on a small problem.")
app.command("driftopt.cli.data:app", name="data")
app.command("driftopt.cli.paper:reproduce", name="reproduce")
app.command("driftopt.cli.paper:compare", name="compare")
app.command("driftopt.cli.study:app", name="study")


def main() -> None:
    """Run the command line; a user's mistake is a sentence on stderr and exit code 2, not a traceback."""
    try:
        app(sys.argv[1:], exit_on_error=False)
    except CycloptsError:
        sys.exit(2)  # cyclopts has printed its sentence
    except (ValueError, FileNotFoundError, PermissionError) as error:
        print(f"driftopt: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("driftopt: interrupted", file=sys.stderr)
        sys.exit(130)
