"""Programs compiled here as other processes compile them, for tests that compare the two to the bit."""

from collections.abc import Iterator
from functools import cache

import pytest

from driftopt.drivers import compiled_loop, compiler_options, host, one_kernel
from support.hashes import hashes_by_xla


@pytest.fixture
def optimised_as_always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The loops' own optimisation and hashes instead of the tests', and no program of another test."""
    monkeypatch.setitem(compiler_options.OPTIONS["cpu"], "xla_backend_optimization_level", 1)
    monkeypatch.setattr(compiled_loop, "_compiled", cache(compiled_loop._compiled.__wrapped__))
    for program in vars(host).values():
        if isinstance(program, one_kernel.Program):
            monkeypatch.setattr(program, "_compiled", {})
    with hashes_by_xla():
        yield
