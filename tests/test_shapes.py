"""Types say shapes, and shapes are as they say: jaxtyping checks every call of the annotated modules."""

import os
import subprocess
import sys
import textwrap

import pytest

CHECKED = """
import importlib, types
import jax, jax.numpy as jnp, numpy as np
import driftopt
from beartype import beartype
from driftopt import methods, problems
from driftopt.drivers import compiler_options
from driftopt.methods import directions, estimators, learners
from jaxtyping import jaxtyped

ROOMS = ("methods.directions", "methods.estimators", "methods.learners", "methods.o2nc", "methods.sgd",
         "methods.output_rules", "methods.informed", "problems.synthetic", "drivers.compiled_loop")


def check(space):
    for name, value in list(vars(space).items()):
        if isinstance(value, types.FunctionType) and not name.startswith("__"):
            setattr(space, name, jaxtyped(value, typechecker=beartype))


for room in ROOMS:  # functions alone: JAX builds modules out of whatever stands for a leaf
    module = importlib.import_module(f"driftopt.{room}")
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            check(value)
    own = {k: v for k, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__}
    checked = types.SimpleNamespace(**own)
    check(checked)
    vars(module).update(vars(checked))
compiler_options.OPTIONS["cpu"]["xla_backend_optimization_level"] = 0  # shapes are checked while it is traced
"""
RUNS = """
noisy = lambda x: float(x @ x)
for name in ("zo-o2nc-1pt", "zo-co", "zo-sph"):
    entry = methods.entry(name)
    lanes = methods.get(name, **entry.example | {"radius": np.array([0.3, 0.5])})
    shifts = driftopt.stack([problems.location_shift(3, rng=seed) for seed in range(2)])
    assert driftopt.simulate_many(lanes, shifts, budget=24, seeds=[0, 1, 2]).fun.shape == (2, 3, 2)
    driftopt.minimize(noisy, np.ones(3), budget=24, method=name, params=entry.example)

from driftopt.answers import Beside
from driftopt.methods.informed import informed
from driftopt.oracle import WithBeside
told = WithBeside(jnp.ones((1, 2)), jnp.ones((1, 2), bool), Beside({"rain": jnp.ones((1, 2))}))
method = informed(methods.get("zo-sph", radius=0.5, step=0.1), covariates=True)
state = method.init(jax.random.key(0), jnp.ones(3), told)
assert method.ask(state).shape == (2, 3)
assert method.recommend(method.tell(state, told)).shape == (3,)
"""
WRONG = {
    "a direction for every point": (
        "estimators.TwoPoint(2).queries(jnp.ones(3), jnp.ones((2, 4)), jnp.asarray(0.5))"
    ),
    "points in place of values": (
        "one = jnp.asarray(1.0)\nestimators.OnePoint().gradient(jnp.ones((1, 3)), jnp.ones((1, 3)), one, one)"
    ),
    "a radius for every coordinate": "learners.project(jnp.ones(3), jnp.ones((2, 3)))",
    "whole numbers": "learners.project(jnp.ones(3, jnp.int32), jnp.asarray(1.0))",
    "a law that forgets its count": (
        "directions.normal = lambda key, shape: jnp.ones(shape[1:])\n"
        "directions.gaussian(jax.random.key(0), 2, 3)"
    ),
}


def tried(code, otherwise):
    """The code, and what is done where it fails."""
    return f"try:\n{textwrap.indent(code, '    ')}\nexcept Exception as error:\n    {otherwise}\n"


@pytest.fixture(scope="module")
def checked():
    """A process in which the annotated modules are checked: runs first, then each mistake."""
    code = CHECKED + "import traceback\nfailed, caught = False, []\n"
    code += tried(RUNS, "failed = True; traceback.print_exc()")
    for name, call in WRONG.items():
        code += tried(call, f"caught += [{name!r}] if 'Type-check error' in str(error) else []")
    code += "print(caught)\nraise SystemExit(failed)"
    return subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-c", code],
        env={**os.environ, "DRIFTOPT_CHECK_SHAPES": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_runs_keep_to_their_shapes_on_the_host_and_in_lanes(checked):
    assert checked.returncode == 0, checked.stderr


def test_a_wrong_shape_is_refused(checked):
    """Each mistake must be caught by the check and not by what the mistake does later."""
    assert checked.stdout.strip() == str(list(WRONG)), checked.stderr
