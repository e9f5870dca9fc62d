"""driftopt inside other people's workflows: a generator of the gest-api standard, `suggest` and `ingest`.

    from gest_api.vocs import VOCS
    from driftopt.generator import Generator

    vocs = VOCS(variables={"price": [1.0, 9.0]}, objectives={"profit": "MAXIMIZE"})
    generator = Generator(vocs, budget=500)
    while points := generator.suggest():
        generator.ingest([{**point, "profit": deploy(point["price"])} for point in points])
    generator.recommend()

Xopt, Optimas and libEnsemble run such generators. Points carry an `_id`: they may come back in any order, one
by one or together, and one whose value is not finite, or too large to compute with, is suggested again.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import Answer, Answers
from driftopt.answers.answers import LARGEST
from driftopt.drivers.contract import check_points
from driftopt.drivers.host import Host
from driftopt.drivers.plan import affordable, first_step
from driftopt.method import Method
from driftopt.methods import defaults
from driftopt.oracle import check_minimize
from driftopt.packages import package
from driftopt.rng.seeds import as_seed
from driftopt.space import Space

__all__ = ["Generator"]

_standard: Any = package("gest_api", "gest", "driftopt.generator")
_vocs: Any = package("gest_api.vocs", "gest", "driftopt.generator")

DIVERGED = (
    "the method has diverged: a number would have overflowed. Begin again with a smaller step, or with "
    "values in larger units; recommend() gives the last decision before that"
)


class Generator(_standard.Generator):
    """A method of driftopt that suggests points and learns from their noisy values.

    Args:
        vocs: continuous variables with finite domains, one objective (MINIMIZE or MAXIMIZE), constants.
        budget: the number of values.
        radius: the reach of a trial from the current decision, one number or one for each variable. By
            default √d/10 of each variable's domain.
        method: a name of `driftopt.methods.names()` that sees values, or a Method with its own numbers.
        params: the numbers of a named method.
        start: the first decision, a value for each variable. By default a variable's default value, or else
            the middle of its domain.
        rng: a whole number or a NumPy Generator; None draws a seed.

    Raises:
        ValueError: the vocs or the numbers do not fit.
    """

    returns_id = True

    def __init__(
        self,
        vocs: Any,
        *,
        budget: int,
        radius: Any = None,
        method: str | Method = "auto",
        params: Mapping[str, Any] | None = None,
        start: Mapping[str, float] | None = None,
        rng: Any = None,
    ):
        super().__init__(vocs)
        (self._objective, goal), *_ = vocs.objectives.items()
        names, domains = list(vocs.variables), [one.domain for one in vocs.variables.values()]
        first = dict(start or {})
        if unknown := sorted(set(first) - set(names)):
            raise ValueError(f"start names {', '.join(unknown)}, which the vocs does not")
        for name, one in vocs.variables.items():
            middle = sum(one.domain) / 2 if one.default_value is None else one.default_value
            first.setdefault(name, middle)
        self._space = Space.build([float(first[name]) for name in names], names=names, bounds=domains)
        self._constants = {name: one.value for name, one in vocs.constants.items()}
        maximize = isinstance(goal, _vocs.MaximizeObjective)
        self._answers = Answers.build(direction="maximize" if maximize else "minimize", largest=LARGEST)
        self._memory = self._answers.begin()
        self.seed = as_seed(rng)
        self._iterations = self._begin(method, int(checks.count("budget", budget)), radius, params)
        self._opened = 0  # ids given so far
        self._open()

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """The points of this iteration that are not suggested yet; none once the budget is spent.

        Raises:
            ValueError: this iteration has fewer points left, or the method has diverged.
        """
        self._check_sound()
        self._go_on()
        count = len(self._waiting) if num_points is None else int(checks.count("num_points", num_points))
        if count > len(self._waiting):
            raise ValueError(
                f"{count} points were asked for and {len(self._waiting)} are open: the next ones depend on "
                "the values of those suggested before; call suggest() without a number"
                if not self.spent
                else "the budget is spent: recommend() gives the decision"
            )
        given, self._waiting = self._waiting[:count], self._waiting[count:]
        return [{**self._named(self._points[key]), **self._constants, "_id": key} for key in given]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """Learn from values at suggested points: from all of them, or from none if one is refused.

        A point whose value is not finite, or too large to compute with, is suggested again.

        Raises:
            ValueError: a point is not suggested, already has a value, or lies elsewhere; a value is not a
                number; or the method has diverged.
        """
        self._check_sound()
        told = dict[int, float]()
        for result in checks.several("results", results):
            key = self._key(result, told)
            told[key] = self._value(key, result)
        for key, value in told.items():
            if self._answers.judge(Answer(value)) is None:
                self._values[key] = value
            else:
                self._waiting.append(key)
        self._go_on()

    def recommend(self) -> dict[str, float]:
        """The decision to report: never the best value seen."""
        return self._named(self._space.report(self._host.recommend(), self._begun))

    @property
    def spent(self) -> bool:
        """True if the budget does not pay for another iteration."""
        return self._host.told >= self._iterations

    def _validate_vocs(self, vocs: Any) -> None:
        kinds = (_vocs.MinimizeObjective, _vocs.MaximizeObjective)
        if len(vocs.objectives) != 1 or not isinstance(next(iter(vocs.objectives.values())), kinds):
            raise ValueError("vocs must have one objective, MINIMIZE or MAXIMIZE")
        if vocs.constraints:
            raise ValueError("vocs must have no constraints but the variables' domains")
        for name, one in vocs.variables.items():
            domain = getattr(one, "domain", None)
            if domain is None or not np.isfinite(domain).all():
                raise ValueError(f"variable {name} must be continuous with a finite domain, got {one!r}")

    def _begin(self, method: str | Method, budget: int, radius: Any, params: Any) -> int:
        """The number of iterations that the budget pays for; decides the method's numbers and begins it."""
        self._space, chosen, _ = defaults.chosen(
            method, self._space, budget=budget, radius=radius, params=params
        )
        dim = self._space.dim
        named = method if isinstance(method, str) else type(method).__name__
        check_minimize(named, chosen.sees, loss=False, model=False)
        if chosen.scheduled:
            raise ValueError(f"{named} takes another batch in every iteration; choose another method")
        check_points(chosen, dim)
        checks.budget(budget, first_step(chosen, dim))
        self._begun = self._space.begin(float(np.asarray(chosen.radius)))
        self._host = Host(chosen, self._begun, self.seed, soon=True)
        return affordable(chosen, dim, budget).iterations

    def _open(self) -> None:
        """The next iteration's points, each as often as the method averages."""
        self._points: dict[int, np.ndarray] = {}
        self._values: dict[int, float] = {}
        if not self.spent:
            points = self._space.deploy(self._host.points, (self.seed, self._host.told))
            rows = np.tile(points, (self._host.repeats, 1))
            self._points = dict(enumerate(rows, self._opened))
            self._opened += len(rows)
        self._waiting = list(self._points)

    def _go_on(self) -> None:
        """Close the iteration once it has all its values; after Ctrl-C the next call does."""
        if not self._values or len(self._values) < len(self._points):
            return
        values = np.array([self._values[key] for key in self._points])  # in the order of asking
        samples = values.reshape(self._host.repeats, -1)
        memory, means = self._answers.take(self._memory, samples)
        self._host.tell(means)
        self._memory = memory
        self._check_sound()
        self._open()

    def _check_sound(self) -> None:
        if self._host.diverged:
            raise ValueError(DIVERGED)

    def _key(self, result: Any, told: Mapping[int, float]) -> int:
        """The pending point that a result belongs to; `told` has the points of the same call."""
        key = checks.table("each of results", result).get("_id")
        awaited = [key for key in self._points if key not in {*self._values, *self._waiting, *told}]
        if key not in awaited:
            raise ValueError(
                f"_id {checks.brief(key)} is none of the points that await a value: {awaited}; values of "
                "other decisions cannot be used"
            )
        return key

    def _value(self, key: int, result: Mapping[str, Any]) -> float:
        """The value in a result, which must belong to the suggested decision."""
        if missing := [name for name in (*self._space.names, self._objective) if name not in result]:
            raise ValueError(
                f"_id {key}: a result must hold the point and its {self._objective}, NaN where that failed; "
                f"it lacks {', '.join(missing)}"
            )
        asked = self._points[key]
        told = checks.vector(f"_id {key}: the point", [result[name] for name in self._space.names])
        if not np.allclose(told, asked, rtol=1e-6, atol=1e-9):
            raise ValueError(f"_id {key}: the value is of {told.tolist()}, suggested was {asked.tolist()}")
        return checks.number(f"_id {key}: {self._objective}", result[self._objective])

    def _named(self, point: np.ndarray) -> dict[str, float]:
        return dict(zip(self._space.names, point.tolist(), strict=True))
