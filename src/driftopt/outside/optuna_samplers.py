"""The samplers of Optuna, by their names in optuna.samplers."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from driftopt import checks
from driftopt.outside.contract import EXTRA, Outside, World, box, check_box, whole
from driftopt.packages import package


@dataclass(frozen=True)
class Optuna(Outside):
    """A sampler of Optuna in a box. A study can only report its best trial, which is its luckiest draw.

    Akiba et al., "Optuna: a next-generation hyperparameter optimization framework", KDD 2019.

    Args:
        sampler: TPESampler, CmaEsSampler, RandomSampler, … of optuna.samplers.
        width: the reach of the box to both sides of the start. None: to the bounds.
        batch: values averaged at each point.
    """

    packages: ClassVar[tuple[str, ...]] = ("optuna",)
    luckiest: ClassVar[bool] = True  # pyright: ignore[reportIncompatibleVariableOverride]

    sampler: str = "TPESampler"
    width: float | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        whole("batch", self.batch)
        if self.width is not None:
            checks.positive("width", self.width)

    def check(self, dim: int, points: int, boxed: bool) -> None:
        check_box("optuna", self.width, boxed)
        samplers: Any = package("optuna", EXTRA, "optuna").samplers
        known = [name for name in samplers.__all__ if name.endswith("Sampler")]
        if self.sampler not in known or self.sampler == "BaseSampler":
            raise ValueError(f"Optuna has no sampler {self.sampler!r}; it has {', '.join(known)}")

    def run(self, world: World) -> None:
        optuna: Any = package("optuna", EXTRA, "optuna")
        low, high = box(world, self.width)
        names = [f"x{i}" for i in range(len(low))]
        space = {
            name: optuna.distributions.FloatDistribution(float(a), float(b))
            for name, a, b in zip(names, low, high, strict=True)
        }
        before = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about samplers that the library calls experimental
                sampler = getattr(optuna.samplers, self.sampler)(seed=world.seed % 2**32)
                study = optuna.create_study(sampler=sampler)
                start = np.clip(world.x0, low, high)
                study.enqueue_trial(dict(zip(names, start.tolist(), strict=True)))
                while world.left:
                    trial = study.ask(space)
                    study.tell(trial, world.one([trial.params[name] for name in names]))
        finally:
            optuna.logging.set_verbosity(before)
