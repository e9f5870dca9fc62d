"""Programs compiled here as other processes compile them, for tests that compare the two to the bit."""

from functools import cache

import pytest

from driftopt.drivers import compiled_loop, compiler_options, host, one_kernel


@pytest.fixture
def optimised_as_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops' own optimisation instead of the tests', and no program of another test."""
    monkeypatch.setitem(compiler_options.OPTIONS["cpu"], "xla_backend_optimization_level", 1)
    monkeypatch.setattr(compiled_loop, "_compiled", cache(compiled_loop._compiled.__wrapped__))
    for program in vars(host).values():
        if isinstance(program, one_kernel.Program):
            monkeypatch.setattr(program, "_compiled", {})
