"""Constants that a test plants in driftopt's own modules: JAX would go on with what it traced before."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax


@contextmanager
def traced_again() -> Iterator[None]:
    """Let JAX trace everything again within the block, and after it."""
    jax.clear_caches()
    try:
        yield
    finally:
        jax.clear_caches()
