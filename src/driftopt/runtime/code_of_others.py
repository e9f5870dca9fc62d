"""What others have written, as far as JAX does not see it: classes whose code and globals may change.

JAX goes on with what it traced of a function and a structure, whatever has become of the globals behind
them. driftopt's own classes read none; of all others the code and the globals count.
"""

import dataclasses
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any

import jax

from driftopt.runtime import fingerprint
from driftopt.runtime.reachable_code import reach

PLAIN = (str, int, float, bool, type(None))

_thread = threading.local()


def ours(tree: Any) -> bool:
    """Whether every class in the tree is driftopt's and every static part is plain.

    A class of somebody else may change without a trace in the key; its programs are made anew.
    """
    return all(
        kind in (tuple, type(None)) or (_own(kind) and _plain(static))
        for kind, static in fingerprint.nodes(jax.tree.structure(tree))
    )


def _own(kind: type) -> bool:
    return kind.__module__.startswith("driftopt.")


def _plain(part: Any) -> bool:
    if isinstance(part, tuple):
        return all(map(_plain, part))
    if dataclasses.is_dataclass(part) and _own(type(part)):
        return all(map(_plain, vars(part).values()))
    return isinstance(part, PLAIN)


def code_behind(tree: Any) -> str:
    """What the classes of others in a tree can reach, as a hash; "" where all are driftopt's.

    JAX would go on with what it traced when a global was another: under another text, trace anew.
    """
    if ours(tree):
        return ""
    seen = reach(*fingerprint.nodes(jax.tree.structure(tree))).digest
    return f"{getattr(_thread, 'code', '')} {seen}"


@cache
def traced_for(code: str, fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` as an object of its own for each `code`, so that `jax.jit` of it is traced for each."""

    @wraps(fun)
    def same(*arguments: Any, **named: Any) -> Any:
        return fun(*arguments, **named)

    return same


@contextmanager
def code_named(code: str) -> Generator[None]:
    """A block in which this names the code behind classes of others: under another they are traced anew."""
    before = getattr(_thread, "code", "")
    _thread.code = code
    try:
        yield
    finally:
        _thread.code = before
