"""Every entry in Python, with calls that are quick where they work."""

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import driftopt
from driftopt import methods, problems, sweep
from driftopt.oracle import Model
from driftopt.space import Space
from support.fuzz import Entry

CALLED = ("function", "value", "query")  # what a function gives is seen when it is called
RUNS = {"budget": 20, "progress": False, "version": "1", "title": "a", "executor": None}


def noisy(x: np.ndarray) -> float:
    return float(np.abs(x).sum())


def finite(result: Any) -> bool:
    """No result holds a number that is not finite, or more queries than were paid for."""
    return bool(np.isfinite(result.x).all()) and result.nfev <= 300


def in_python(folder: Path) -> dict[str, Entry]:
    """All of them; what they write lies in `folder`."""
    groups = (drivers, sweeps, methods_and_problems)
    return {name: entry for group in groups for name, entry in group(folder).items()}


def drivers(folder: Path) -> dict[str, Entry]:
    problem, method = problems.kink(2), methods.get("zo-sph", radius=0.5, step=0.01)
    minimized: dict[str, Any] = {
        "fun": noisy,
        "x0": [1.0, 2.0],
        "budget": 20,
        "radius": 0.5,
        "method": "zo-sph",
        "params": {"step": 0.01},
        "bounds": [(-9, 9), (-9, 9)],
        "direction": "minimize",
        "final_queries": 2,
        "settle": 1,
        "rng": 0,
        "callback": None,
        "vectorized": False,
        "progress": False,
        "loss": None,
        "model": None,
        "args": (),
    }
    observed: dict[str, Any] = {
        "fun": lambda x: np.array(1.0),
        "x0": [1.0, 2.0],
        "loss": lambda x, xi: jnp.sum(x * x) * xi,
        "model": _Model(),
        "method": "zo-ogvr",
        "radius": 0.5,
        "params": {"step": 0.01, "batch": 3, "growth": 1, "first": 2, "window": 3},
        "budget": 60,
        "rng": 0,
    }
    also = {"fun": CALLED, "vectorized": CALLED, "args": CALLED, "params": ("step", "parameter")}
    trace = driftopt.simulate(method, problem, budget=20, evaluate_every=10)
    run: dict[str, Any] = {
        "method": method,
        "budget": 20,
        "x0": [0.0, 1.0],
        "evaluate_every": 10,
        "settle": 1,
    }
    return {
        "minimize": Entry(driftopt.minimize, lambda: minimized, also, right=finite),
        "minimize, with a loss": Entry(driftopt.minimize, lambda: observed, also, right=finite),
        "scipy_method": Entry(
            driftopt.scipy_method,
            lambda: (
                {name: minimized[name] for name in ("fun", "x0", "budget", "radius", "bounds", "args")}
                | {"jac": None, "tol": None, "constraints": ()}
            ),
            also,
            right=finite,
        ),
        "simulate": Entry(driftopt.simulate, lambda: {**run, "problem": problem, "rng": 0}),
        "simulate_many": Entry(
            driftopt.simulate_many, lambda: {**run, "problems": driftopt.stack([problem]), "seeds": [0]}
        ),
        "stack": Entry(driftopt.stack, lambda: {"problems": [problem]}),
        "check": Entry(driftopt.check, lambda: {"problem": problem, "samples": 100, "rng": 0}),
        "Trace.plot": Entry(
            trace.plot, lambda: {"path": folder / "trace.png"}, {"path": ("folder", "write")}
        ),
        "Space": Entry(
            Space.build,
            lambda: {"start": [1.0, 2.0], "names": ["a", "b"], "bounds": [(-9, 9), (None, 9)]},
            {"start": ("x0",)},
        ),
    }


class _Model(Model):
    def fit(self, x: Any, xi: Any, taken: Any) -> Any:
        return jnp.zeros(())

    def draw(self, parameters: Any, key: Any, x: Any) -> Any:
        return jnp.ones(())


def sweeps(folder: Path) -> dict[str, Entry]:
    problem, fresh = problems.kink(2), itertools.count()
    steps = sweep.grid("zo-sph", radius=0.5, step=[0.01, 0.02])
    listed = {"grids": [steps], "problems": [problem], "names": ["a"], "x0": [0.0, 1.0], **RUNS}
    runs = sweep.run([steps], [problem], budget=20, seeds=[0], progress=False)

    def kept(**call: Any) -> dict[str, Any]:
        return {**call, "folder": folder / f"kept{next(fresh)}", "fresh": False}

    compared = {
        "methods": {"zo-sph": {"radius": 0.5, "step": 0.01}},
        "budget": 20,
        "development": 1,
        "held_out": 2,
        "x0": [0.0, 1.0],
        "progress": False,
    }
    comparison = driftopt.compare(problem, **compared)
    parameters = ("step", "radius", "parameter", "method")
    return {
        "sweep.run": Entry(
            sweep.run,
            lambda: kept(**listed, seeds=[0], evaluate_every=10, metrics=False),
            {"grids": ("method",), "names": ("problems",), "version": ()},
        ),
        "sweep.plan": Entry(
            sweep.plan,
            lambda: {"grids": [steps], "problems": [problem], "budget": 20, "seeds": [0], "workers": 1},
            {"grids": ("method",)},
        ),
        "sweep.tune": Entry(
            sweep.tune,
            lambda: kept(**listed, development=[0], held_out=[1], together=False),
            {"grids": ("method",), "names": ("problems",), "held_out": ("held-out",)},
        ),
        "sweep.select": Entry(
            sweep.select,
            lambda: {"grids": [steps], "development": runs, "problems": [problem], "budget": 20},
        ),
        "compare": Entry(
            driftopt.compare,
            lambda: kept(**compared, problem=problem, names=["a"], evaluate_every=10, version="1"),
            {"methods": parameters, "names": ("problems",), "held_out": ("held-out",)},
        ),
        "compare, with a function": Entry(
            driftopt.compare,
            lambda: {**compared, "problem": noisy, "bounds": [(-9, 9), (-9, 9)], "evaluations": 3},
            {"methods": parameters, "problem": CALLED, "held_out": ("held-out",)},
        ),
        "Comparison.write": Entry(comparison.write, lambda: {"folder": folder / "compared"}),
    }


def methods_and_problems(folder: Path) -> dict[str, Entry]:
    def registered(module: Any, **call: Any) -> None:
        module.register(**call)
        module.get(call["name"], **{} if module is problems else {"radius": 0.5})

    def build(radius: Any) -> driftopt.Method:
        return methods.get("zo-sph", radius=radius, step=0.01)

    prices = folder / "prices.csv"
    prices.write_text("1 2,3\n4")
    classified = {"X": [[1.0], [-2.0]], "y": [1, -1], "X_test": [[1.0]], "y_test": [1]}
    pricing = problems.Pricing.synthetic(0, 12, 2)
    return {
        "methods.get": Entry(
            methods.get,
            lambda: {
                "name": "zo-sph",
                "radius": 0.5,
                "step": 0.01,
                "directions": 1,
                "batch": 1,
                "block": 1,
                "output": "final",
            },
            {"name": ("method",)},
        ),
        **{
            f"methods.get {name}": Entry(partial(methods.get, name), partial(_own_parameters, name))
            for name in methods.names()
        },
        "methods.entry": Entry(
            methods.entry, lambda: {"name": "auto", "provider": "driftopt"}, {"name": ("method",)}
        ),
        "methods.grid": Entry(
            methods.grid, lambda: {"method": "zo-sph", "radius": [0.5, 1.0], "step": 0.01, "label": "one"}
        ),
        "methods.register": Entry(
            lambda **call: registered(methods, **call),
            lambda: {"name": "own", "build": build, "summary": "a", "example": {"radius": 0.5}},
        ),
        "problems.register": Entry(
            lambda **call: registered(problems, **call),
            lambda: {"name": "own", "build": lambda: problems.kink(2), "summary": "a"},
            {"build": ("options", "problem")},
        ),
        "problems.get": Entry(
            problems.get, lambda: {"name": "kink", "dim": 2, "noise": 0.5, "rng": 0}, {"name": ("problem",)}
        ),
        "problems.kink": Entry(problems.kink, lambda: {"dim": 2, "noise": 0.5, "rng": 0}),
        "problems.two_wells": Entry(
            problems.two_wells, lambda: {"dim": 2, "noise": 0.5, "width": 1.0, "height": 0.5, "rng": 0}
        ),
        "problems.location_shift": Entry(
            problems.location_shift, lambda: {"dim": 2, "strength": 0.5, "noise": 0.5, "ridge": 1.0, "rng": 0}
        ),
        "Pricing.from_prices": Entry(
            problems.Pricing.from_prices,
            lambda: {"prices": [1.0, 3.0, 2.0], "cost_seed": 0, "buyers": 12, "products": 2},
            {"prices": ("price",)},
        ),
        "Pricing.from_prices, a file": Entry(
            problems.Pricing.from_prices, lambda: {"prices": prices, "products": 2}, {"prices": ("price",)}
        ),
        "Pricing.synthetic": Entry(
            problems.Pricing.synthetic, lambda: {"seed": 0, "buyers": 12, "products": 2}
        ),
        "Pricing.from_week": Entry(
            lambda **call: absent(problems.Pricing.from_week, **call),
            lambda: {"week": "2022-08", "cost_seed": 0, "buyers": 12, "products": 2},
        ),
        "Pricing.objective_monte_carlo": Entry(
            pricing.objective_monte_carlo, lambda: {"x": pricing.x0, "n": 3, "rng": 0}
        ),
        "Pricing.optimum": Entry(pricing.optimum, lambda: {"starts": 1, "seed": 0}),
        "StrategicClassification.from_arrays": Entry(
            problems.StrategicClassification.from_arrays,
            lambda: {**classified, "tau": 2.0, "loss": "hinge"},
            {"X_test": ("X",), "y_test": ("y",)},
        ),
    }


def _own_parameters(name: str) -> dict[str, Any]:
    """Numbers that run anywhere, for every parameter."""
    line = methods.entry(name)
    return {**line.defaults, **line.example}


def absent(call: Callable[..., Any], **given: Any) -> None:
    """Where all is well but the data, which is never part of the repository: that is said, and is right."""
    from driftopt.data.cache import DataError

    try:
        call(**given)
    except DataError as error:
        if "is not in" not in str(error):
            raise
