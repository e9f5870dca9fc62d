"""A large sweep is confirmed before it starts: what it will take, and a question on a terminal."""

import sys

from driftopt.sweep.planning import SweepPlan

LONG = 600.0  # seconds from which on somebody is asked
LARGE = 1e9  # bytes of results, likewise
MANY = 1e9  # queries below which no pilot is run to find out


class NotConfirmed(ValueError):
    """A large sweep was not started; the message says what it would have taken and how to start it."""


def is_large(plan: SweepPlan) -> bool:
    """Whether a sweep takes so long, or so much room, that somebody should say yes first.

    Where its time is not known, its queries decide.
    """
    long = plan.queries >= MANY if plan.seconds is None else plan.seconds >= LONG
    return long or plan.result_bytes >= LARGE


def confirm(plan: SweepPlan, how: str) -> None:
    """Return where the sweep may start: it is not large, or somebody at a terminal says so.

    Never waits where there is no terminal.

    Args:
        plan: what it will take.
        how: how to start it without being asked, as an advice.

    Raises:
        NotConfirmed: the answer was no, or there is nobody to ask.
    """
    if not is_large(plan):
        return
    if not sys.stdin.isatty():
        raise NotConfirmed(f"nothing was started: {plan}. There is no terminal to ask at; {how}")
    if not says_yes(plan):
        raise NotConfirmed(f"nothing was started: the answer was no; {how}")


def says_yes(plan: SweepPlan) -> bool:
    """Whether somebody at the terminal, told what it will take, says to start."""
    print(f"{plan}\nStart? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
