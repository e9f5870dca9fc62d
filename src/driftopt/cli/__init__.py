"""The command line: argument parsing only, one file a command. A command loads its imports when it runs."""

import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager

from cyclopts import App, CycloptsError

import driftopt
from driftopt.cli import compare, data, demo, mcp, methods, plan, problems, reproduce, serve
from driftopt.packages import MissingPackage, needs_jax

# Set before NumPy loads: our linear algebra is small, and BLAS's threads would only take cores from JAX.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = App(
    name="driftopt",
    version=driftopt.__version__,
    help="""Optimisation when the decision changes the data.

    ```text
    driftopt demo                   a first look, in 15 seconds
    driftopt methods                all methods, and what each needs
    driftopt problems               simulated problems, and what is known of each
    driftopt study create --help    prices or thresholds on a live system
    driftopt serve DATABASE         studies over HTTP, without Python
    driftopt mcp DATABASE           studies as tools for agents
    driftopt compare FILE.toml      methods on your own problem
    ```

    `driftopt COMMAND --help` explains each command.
    """,
    suppress_keyboard_interrupt=False,  # `main` prints a sentence and ends
)
# A command's docstring is its help. None of these modules loads JAX or NumPy before its command runs.
for command in (
    methods.methods,
    problems.problems,
    plan.plan,
    demo.demo,
    data.app,
    reproduce.reproduce,
    compare.compare,
    serve.serve,
    mcp.mcp,
):
    app.command(command)
# Loaded when it is called, with the verbs of studies
app.command(
    "driftopt.cli.study:app",
    name="study",
    help="""Ask and tell on a live system, over days, through a database.

    ```text
    driftopt study create shop.db prices --x0 9.9,4.5 --budget 60 --radius 0.3
    driftopt study ask shop.db prices           deploy what it prints
    driftopt study tell shop.db prices 1 12.5   a week later, report what you measured
    driftopt study recommend shop.db prices
    ```

    Exit codes: 0 done; 2 a mistake in the command; 3 nothing to ask now, try again later; 4 the budget is
    spent; 5 a trial has another result already; 6 a result is an outlier and is held; 7 a hard limit has
    halted the study; 1 anything else.
    """,
)
app.register_install_completion_command(
    help="Let the shell complete commands and options (bash, zsh or fish, in its own start-up file)."
)


@contextmanager
def warnings_in_a_sentence() -> Generator[None]:
    """A block that prints warnings without file and line, which mean nothing to users of a command."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # shown, whatever filters Python was started with
        warnings.showwarning = lambda message, *_, **__: print(
            f"driftopt: {message}", file=sys.stderr, flush=True
        )
        yield


def main() -> None:
    """Run the command line; a user's mistake is a sentence on stderr and exit code 2, not a traceback."""
    try:
        try:
            with warnings_in_a_sentence(), needs_jax("this command"):
                app(sys.argv[1:], exit_on_error=False)
        finally:
            sys.stdout.flush()  # here, where a closed pipe is still handled
    except CycloptsError:
        sys.exit(2)  # cyclopts has printed its sentence
    except (ValueError, FileNotFoundError, PermissionError, MissingPackage) as error:
        print(f"driftopt: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader has enough (`| head`). This is not a mistake, but the rest must not be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print("driftopt: interrupted", file=sys.stderr, flush=True)
        sys.stdout.flush()
        # A regular exit may crash in threads that JAX is starting; everything kept is on disk.
        os._exit(130)
