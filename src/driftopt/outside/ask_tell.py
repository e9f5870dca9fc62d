"""Any object with `ask` and `tell`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from driftopt.outside.contract import Outside, World, whole


class Asking(Protocol):
    """An optimiser with `ask` and `tell`."""

    def ask(self) -> Any:
        """The next point, (d,)."""
        ...

    def tell(self, x: Any, value: float) -> Any:
        """Report the value at the last point."""
        ...


@dataclass(frozen=True)
class AskTell(Outside):
    """An optimiser of your own, or of a library without an adapter here, for `compare`.

    Args:
        build: build(x0, seed, **numbers) makes an object with ask() and tell(x, value).
        recommend: returns the decision that such an object reports. None: it has only its luckiest draw, and
            the tables mark it.
        batch: values averaged at each point.
        numbers: further arguments of `build`.

    >>> import numpy as np
    >>> class Nearby:
    ...     def __init__(self, x0, seed, step):
    ...         self.x, self.best, self.step, self.rng = x0, np.inf, step, np.random.default_rng(seed)
    ...     def ask(self):
    ...         return self.x + self.step * self.rng.standard_normal(self.x.size)
    ...     def tell(self, x, value):
    ...         if value < self.best:
    ...             self.x, self.best = x, value
    >>> search = AskTell(Nearby, recommend=lambda search: search.x, numbers={"step": 0.3})
    >>> world = World(lambda points: (points**2).sum(axis=1), np.ones(2), points=100, seed=0)
    >>> search.run(world)
    >>> world.left, bool(np.abs(world.recommend()).max() < 0.3)
    (0, True)
    """

    build: Callable[..., Asking]
    recommend: Callable[[Any], Any] | None = None
    batch: int = 1
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        whole("batch", self.batch)

    @property
    def luckiest(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.recommend is None

    def run(self, world: World) -> None:
        search, reported = self.build(world.x0.copy(), world.seed, **self.numbers), self.recommend
        if reported is not None:
            world.recommend = lambda: reported(search)
        while world.left:
            point = search.ask()
            search.tell(point, world.one(point))

    def __call__(self, *, batch: int | None = None, **numbers: Any) -> "AskTell":
        """The same optimiser with other numbers, for the configurations of `compare`."""
        batch = self.batch if batch is None else batch
        return AskTell(self.build, self.recommend, batch, {**self.numbers, **numbers})
