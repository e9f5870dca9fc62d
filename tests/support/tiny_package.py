"""A small package that brings a method and a problem, written as `pip install` would leave it."""

from pathlib import Path

CODE = '''
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

import driftopt
from driftopt import methods


class State(NamedTuple):
    key: Any
    told: Any
    x: Any


@driftopt.pytree.module
class Coin(driftopt.Method):
    """Steps of a fixed length to the lower of two points."""

    batch: ClassVar[int] = 1
    radius: Any = 0.5

    def points(self, dim):
        return 2

    def init(self, key, x0):
        return State(key, jnp.zeros((), jnp.int32), x0)

    def noise(self, key, count, dim):
        return jax.random.normal(jax.random.fold_in(key, count), (dim,), jnp.float32)

    def ask(self, state, noise=None):
        apart = self.radius * self.drawn(state, noise)
        return jnp.stack([state.x + apart, state.x - apart])

    def tell(self, state, values, noise=None):
        apart = self.radius * self.drawn(state, noise)
        return State(state.key, state.told + 1, state.x - 0.1 * jnp.sign(values[0] - values[1]) * apart)

    def recommend(self, state):
        return state.x


def valley(dim: int = 2):
    """The sum of absolute values."""
    return driftopt.problems.kink(dim)
'''


def install(folder: Path, name: str = "tiny-driftopt", points: str = "", code: str = CODE) -> Path:
    """The package's module and metadata in a folder that is to be on the path."""
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = points or (
        f"[driftopt.methods]\ncoin = {module}:Coin\n[driftopt.problems]\nvalley = {module}:valley\n"
    )
    (metadata / "entry_points.txt").write_text(points)
    return folder
