"""A small package that brings a method and a problem: as `pip install` would leave it, or as a wheel for pip.

Only the standard library is imported: `make dist` uses it in environments that have nothing else.
"""

import zipfile
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

# Every entry, in an interpreter that is told nothing of the package; its argument is a folder for files.
FIVE_ENTRIES = """
import sys
import numpy as np
import driftopt
from driftopt import methods, problems, sweep
from driftopt.cli import app

folder, noise = sys.argv[1], np.random.default_rng(0)
assert "coin" in methods.names() and "valley" in problems.names()
assert methods.entry("coin").provider == "tiny-driftopt"
problem, coin = problems.get("valley", dim=2), methods.get("coin", radius=0.3)
assert driftopt.simulate(coin, problem, budget=40).queries == 40
runs = sweep.run([sweep.grid("coin", radius=[0.3, 0.6])], [problem], budget=40, seeds=[1], progress=False)
assert len(runs) == 2 and np.isfinite(runs.columns["objective"]).all()
table = driftopt.compare(problem, {"coin": {"radius": [0.3, 0.6]}}, budget=40, development=1, held_out=2)
assert table.score("coin").runs == 2
noisy = lambda x: float(x @ x) + noise.normal()
found = driftopt.minimize(noisy, [1.0, 1.0], budget=40, method="coin", radius=1)
assert found.nfev == 40 and found.params["method"] == "coin"
study = driftopt.Study.create(folder + "/s.db", "s", x0=[1.0, 1.0], budget=10, method="coin", radius=0.5)
trial = study.ask()
study.tell(trial.id, 1.0)
assert study.trials()[0].value == 1.0
app(["methods"], exit_on_error=False, result_action="return_value")
"""


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


def wheel(folder: Path) -> Path:
    """The same package as an archive that pip installs without an index and without building anything."""
    (folder / "package").mkdir()
    files = install(folder / "package")
    (metadata,) = files.glob("*.dist-info")
    (metadata / "WHEEL").write_text(
        "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    names = sorted(str(path.relative_to(files)) for path in files.rglob("*") if path.is_file())
    record = f"{metadata.name}/RECORD"
    (files / record).write_text("".join(f"{name},,\n" for name in [*names, record]))
    archive = folder / f"{metadata.stem}-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in [*names, record]:
            packed.write(files / name, name)
    return archive
