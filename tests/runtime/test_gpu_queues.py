"""Which queue of a GPU a program uses. The host's two devices stand for two queues."""

import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from jaxlib import xla_client

from driftopt import methods, simulate_many, stack, sweep
from driftopt.drivers import compiled_loop
from driftopt.problem import Problem
from driftopt.problems import kink
from driftopt.pytree import module
from driftopt.runtime import gpu_queues
from driftopt.runtime.gpu_queues import Queues

TOGETHER = 60  # seconds that a thread waits for the others before the test fails


def two_queues():
    return Queues(lambda: jax.local_devices()[:2])


def queue_of(array):
    """0 for an array that was left where it was."""
    return 0 if isinstance(array, np.ndarray) else jax.local_devices().index(next(iter(array.devices())))


def beside_each_other(queues, efforts, company="all"):
    """The queue of each program, by name, where each begins while those before it still run."""
    begun, all_there = {name: threading.Event() for name in efforts}, threading.Barrier(len(efforts))

    def call(name, array):
        begun[name].set()
        all_there.wait(TOGETHER)
        return queue_of(array)

    with ThreadPoolExecutor(len(efforts)) as pool:
        found = {}
        for name, effort in efforts.items():
            found[name] = pool.submit(
                queues.run,
                lambda array, name=name: call(name, array),
                np.zeros(3),
                program=name,
                company=company,
                effort=effort,
            )
            assert begun[name].wait(TOGETHER)
        return {name: queue.result() for name, queue in found.items()}


def alone(queues, name):
    return queues.run(queue_of, np.zeros(3), program=name, company="all", effort=1)


def test_programs_that_run_one_after_the_other_stay_in_jaxs_own_queue_and_make_no_other():
    def none():
        raise AssertionError("nobody needs another queue")

    queues = Queues(none)
    assert [alone(queues, name) for name in "abab"] == [0, 0, 0, 0]


def test_programs_at_the_same_time_are_shared_out_by_their_effort():
    assert beside_each_other(two_queues(), {"a": 5, "b": 2, "c": 2, "d": 9, "e": 1}) == {
        "a": 0,
        "b": 1,
        "c": 1,
        "d": 1,
        "e": 0,
    }


def test_what_other_company_does_counts_for_nothing():
    queues = two_queues()
    beside_each_other(queues, {"a": 1, "b": 9})
    assert beside_each_other(queues, {"c": 2, "d": 1, "e": 2}, "others") == {"c": 0, "d": 1, "e": 1}


def test_a_program_stays_in_its_queue():
    queues = two_queues()
    assert beside_each_other(queues, {"a": 1, "b": 1}) == {"a": 0, "b": 1}
    assert [alone(queues, name) for name in "ab"] == [0, 1]
    assert beside_each_other(queues, {"b": 1, "a": 1}) == {"a": 0, "b": 1}


def test_what_fails_in_a_further_queue_is_run_again_in_jaxs_own_and_stays_there():
    queues, seen = two_queues(), []
    assert beside_each_other(queues, {"a": 1, "b": 1})["b"] == 1

    def short_of_memory(array):
        seen.append(queue_of(array))
        if seen[-1]:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
        return "done"

    for _ in range(2):
        found = queues.run(short_of_memory, np.zeros(3), program="b", company="all", effort=1)
        assert found == "done"
    assert seen == [1, 0, 0]


def test_an_error_of_the_program_itself_comes_out():
    queues = two_queues()
    beside_each_other(queues, {"a": 1, "b": 1})

    def wrong(array):
        raise jax.errors.JaxRuntimeError("whatever the queue")

    for name in "ab":
        with pytest.raises(jax.errors.JaxRuntimeError, match="whatever the queue"):
            queues.run(wrong, np.zeros(3), program=name, company="all", effort=1)
    assert alone(queues, "c") == 0  # those that failed no longer count as running


def test_where_somebody_says_where_programs_run_nothing_is_moved():
    queues = two_queues()
    beside_each_other(queues, {"a": 1, "b": 1})
    with jax.default_device(jax.local_devices()[0]):
        assert alone(queues, "b") == 0
    assert alone(queues, "b") == 1


def test_without_a_gpu_or_its_clients_there_is_jaxs_own_device_alone(monkeypatch):
    own = jax.local_devices()[0]
    assert gpu_queues._places.__wrapped__() == (own,)
    monkeypatch.setattr(jax, "local_devices", lambda: [own])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert gpu_queues._places.__wrapped__() == (own,)  # there is no such plugin here


@pytest.mark.parametrize("wish", gpu_queues.MEMORY_WISHES)
def test_where_somebody_says_how_much_memory_jax_may_take_no_other_client_is_made(monkeypatch, wish):
    made, own = [], jax.local_devices()[0]
    monkeypatch.setattr(jax, "local_devices", lambda: [own])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(xla_client, "generate_pjrt_gpu_plugin_options", lambda: made.append(1) or {})
    gpu_queues._places.__wrapped__()
    assert made == [1]  # without it somebody asks
    monkeypatch.setenv(wish, "0.1")
    assert gpu_queues._places.__wrapped__() == (own,)
    assert made == [1]


def test_a_sweep_on_an_accelerator_gives_the_same_bits_in_one_queue_and_in_two(monkeypatch):
    grids = [sweep.grid("zo-sph", radius=[0.1, 0.5], step=0.01, directions=[1, 2])]
    call = {"budget": 64, "seeds": [1, 2], "progress": False}
    problems = [kink(3, rng=seed) for seed in range(2)]
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "local_device_count", lambda: 1)
    tables, meet = [], threading.Barrier(2)

    class Meeting(Queues):
        """Both programs are wanted at the same time."""

        def _place(self, *program):
            meet.wait(TOGETHER)
            place = super()._place(*program)
            meet.wait(TOGETHER)  # or the first may have run before the second asks
            return place

    for count in (1, 2):
        queues = Meeting(lambda count=count: jax.local_devices()[:count])
        monkeypatch.setattr(compiled_loop, "QUEUES", queues)
        tables.append(sweep.run(grids, problems, **call))
        assert sorted(queues._chosen.values()) == ([0, 0] if count == 1 else [0, 1])
    np.testing.assert_array_equal(tables[0].x, tables[1].x)
    np.testing.assert_array_equal(tables[0].columns["objective"], tables[1].columns["objective"])


@module
class Bowl(Problem):
    """A problem of somebody else."""

    center: float = 0.5

    @property
    def dim(self):
        return 2

    def draw(self, key, x):
        return jax.random.normal(key)

    def value(self, x, xi):
        return self.objective(x) + xi

    def objective(self, x):
        return ((x - self.center) ** 2).sum()


@pytest.mark.parametrize(
    ("problem", "devices", "queued"),
    [(kink(2), 1, 1), (Bowl(), 1, 0), (kink(2), 2, 0)],
    ids=["ours", "of others", "two devices"],
)
def test_programs_of_others_and_those_of_several_devices_stay_where_jax_runs_them(
    monkeypatch, problem, devices, queued
):
    queues = two_queues()
    monkeypatch.setattr(compiled_loop, "QUEUES", queues)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "local_device_count", lambda: devices)
    method = methods.get("zo-sph", radius=0.1, step=0.01)
    simulate_many(method, stack([problem] * 2), budget=8, seeds=[1])
    assert len(queues._chosen) == queued
