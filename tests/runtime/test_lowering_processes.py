"""Programs lowered by other processes: the same bits, and none lost where a process fails."""

import threading
from concurrent.futures import Future
from functools import cache, partial

import jax
import numpy as np
import pytest

import driftopt
from driftopt import methods
from driftopt.drivers import compiled_loop
from driftopt.problems import get, synthetic
from driftopt.runtime import device_kind, executable_cache, fingerprint, lowering_processes

TWO_POINT = methods.get("zo-o2nc-2pt", radius=0.1, step=0.01, block=5)
RGD = methods.get("rgd", **methods.entry("rgd").example)


@cache
def problems():
    return {"synthetic": synthetic.location_shift(3), "pricing": get("pricing")}


def run(method=TWO_POINT, problem="synthetic"):
    trace = driftopt.simulate_many(method, driftopt.stack([problems()[problem]]), budget=200, seeds=[0])
    return trace.x, trace.objective


class Busy:
    """A lock that another thread holds, when it is asked, and nobody when it is waited for."""

    def acquire(self, blocking=True):
        return blocking

    def release(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def asked(monkeypatch):
    """What processes are asked for, while another thread seems to trace."""
    found, lowered = [], lowering_processes.lowered

    def noted(*given):
        found.append(lowered(*given))
        return found[-1]

    monkeypatch.setattr(executable_cache, "_ran", {})
    monkeypatch.setattr(executable_cache, "_LOWERING", Busy())
    monkeypatch.setattr(lowering_processes, "useful", lambda: True)
    monkeypatch.setattr(lowering_processes, "lowered", noted)
    kept = lowering_processes._processes
    yield found
    if kept.cache_info().currsize:
        kept().shutdown()
        kept.cache_clear()


def test_what_another_process_lowers_gives_the_same_bits(asked, monkeypatch, optimised_as_always):
    """One process lowers all of them: both loops, noise of both kinds, a problem that looks at the device."""
    monkeypatch.setattr(lowering_processes, "_cores", 2)
    cases = [(TWO_POINT, "synthetic"), (TWO_POINT, "pricing"), (RGD, "synthetic")]
    elsewhere = [run(*case) for case in cases]
    assert len(asked) == 3
    assert None not in asked
    assert [run(*case)[0].shape for case in cases]  # the second time nobody is asked
    assert len(asked) == 3
    monkeypatch.setattr(lowering_processes, "useful", lambda: False)
    monkeypatch.setattr(executable_cache, "_ran", {})
    for case, theirs in zip(cases, elsewhere, strict=True):
        for mine, other in zip(run(*case), theirs, strict=True):
            np.testing.assert_array_equal(mine, other)
    assert len(asked) == 3


class Answering:
    """In place of processes: what comes back of all that is submitted."""

    def __init__(self, answer):
        self.answer = answer

    def submit(self, *_):
        future = Future()
        if isinstance(self.answer, Exception):
            future.set_exception(self.answer)
        else:
            future.set_result(self.answer)
        return future


@pytest.mark.parametrize("answer", [RuntimeError("died"), ("other code", None), None], ids=str)
def test_a_process_that_fails_or_has_other_code_costs_nothing_but_time(asked, monkeypatch, answer):
    monkeypatch.setattr(lowering_processes, "_processes", lambda: Answering(answer))
    found = run()
    assert asked == [None]
    monkeypatch.setattr(lowering_processes, "useful", lambda: False)
    for mine, other in zip(run(), found, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_nobody_is_asked_while_no_other_thread_traces(asked, monkeypatch):
    monkeypatch.setattr(executable_cache, "_LOWERING", threading.RLock())
    run()
    assert not asked


@pytest.mark.parametrize(
    ("cores", "kind", "useful"), [(16, "gpu", True), (0, "gpu", False), (2, "gpu", False), (16, "cpu", False)]
)
def test_processes_are_for_machines_with_an_accelerator_and_cores(monkeypatch, cores, kind, useful):
    monkeypatch.setattr(lowering_processes, "_cores", 0)
    monkeypatch.setattr(device_kind, "_other", kind)
    lowering_processes.allow(cores)
    assert lowering_processes.useful() is useful


@pytest.fixture
def own_version():
    """Forget the version of the code, which names the device: later tests need that of their own."""
    yield
    fingerprint.code_version.cache_clear()


def test_a_program_is_written_down_for_the_device_of_who_asks(monkeypatch, own_version):
    """Pricing counts buyers otherwise on accelerators; the version that comes back names the device, too."""
    monkeypatch.setattr(device_kind, "_other", None)
    arguments = []
    monkeypatch.setattr(
        executable_cache, "call", lambda _, given, plan, **__: arguments.append((given, plan))
    )
    with pytest.raises(TypeError):  # nothing came back
        run(TWO_POINT, "pricing")
    ((given, plan),) = arguments
    program = partial(compiled_loop.compiled, "cpu", plan.quick)

    def written(kind, target):
        fingerprint.code_version.cache_clear()
        try:
            return lowering_processes._written_down(kind, target, {}, program, given, plan)
        finally:
            fingerprint.code_version.cache_clear()

    version, for_cpu = written("cpu", "cpu")
    other, for_gpu = written("gpu", "cuda")
    assert version == fingerprint.code_version().replace(" gpu ", " cpu ")
    assert version != other
    assert for_gpu.platforms == ("cuda",)
    texts = [str(one.mlir_module()) for one in (for_cpu, for_gpu)]
    assert texts[0].count("stablehlo.while") > texts[1].count("stablehlo.while")
    assert jax.default_backend() == "cpu"
