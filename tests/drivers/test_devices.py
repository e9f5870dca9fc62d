"""Several devices in one machine, as several GPUs would be: four that the host plays, in a process apart."""

import os
import subprocess
import sys

SCRIPT = """
import jax
import numpy as np

from driftopt import methods, stack
from driftopt.drivers.simulation import simulate_lanes, simulate_many
from driftopt.problems import kink

assert jax.local_device_count() == 4
method = methods.get("zo-sph", radius=np.linspace(0.1, 1, 8), step=0.01)
problems = stack([kink(3, rng=seed) for seed in range(4)])
call = {"budget": 200, "seeds": range(3), "x0": None, "evaluate_every": 50, "settle": 1}
divided = simulate_many(method, problems, **call)
alone = simulate_lanes(method, problems, devices=1, **call)
np.testing.assert_array_equal(divided.x, alone.x)
np.testing.assert_array_equal(divided.objective, alone.objective)
print(divided.x.shape)
"""


def test_four_devices_share_the_lanes_and_give_the_bits_of_one():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(4, 3, 8, 3)"
