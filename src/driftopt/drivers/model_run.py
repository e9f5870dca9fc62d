"""One run of `minimize` with the model: each value joins the set of results that decides what comes next."""

from typing import Any

import numpy as np

from driftopt import checks
from driftopt.checks import as_seed
from driftopt.drivers.function_run import FunctionRun, Task
from driftopt.drivers.recorded_function import RecordedFunction
from driftopt.model import Limit, Model, Recommendation, Results, units_of
from driftopt.model.belief import precision


class ModelRun(FunctionRun):
    """The function, and the model of its values."""

    def __init__(self, task: Task):
        params, given = dict(task.params), {"radius": task.radius, "max_radius": task.max_radius}
        for name, argument in given.items():
            number = params.pop(name, None)
            if number is not None and argument is not None:
                raise ValueError(f"give {name} once: as the argument or in params")
            given[name] = number if argument is None else argument
        if params:
            raise ValueError(
                f"the model has no numbers {', '.join(params)}: leave params out, or choose a method"
            )
        radius, most = given.values()
        space, units = units_of(task.space, radius)
        space.check_trials(None)
        checks.budget(task.budget - task.final_queries, task.settle)
        if most is not None:  # in the units of x, or of the radius where that has one number each
            each = 1.0 if np.ndim(radius) else float(units.max())
            most = checks.one_positive("max_radius", most) / each
        seed = as_seed(task.rng)
        limits = [
            Limit(column, sides.get("min", -np.inf), sides.get("max", np.inf))
            for column, sides in enumerate(task.limits.values())
        ]
        self.model = Model(
            space, units, seed, task.maximize, limits=limits, max_radius=most, budget=task.decisions
        )
        used = {"method": "model", "radius": units.tolist(), "seed": seed}
        super().__init__(task, space, task.decisions, used)
        self._known: tuple[int, Recommendation] | None = None  # after how many iterations
        if task.loss is not None:
            from driftopt.drivers.observed_host import Watched  # F is a JAX function

            self.fun = Watched(task.fun, task.loss, False)

    def results(self) -> Results:
        """The values so far; of decisions that settle, the last value of each."""
        used = slice(self.task.settle - 1, self.spent, self.task.settle)
        x, value, more = self._points[used], np.array(self._values)[used], dict[str, Any]()
        if self.recorded is not None:
            beside = self.recorded.last(self.spent, 1)[used]
            control = np.array([np.nan if one.control is None else one.control for one in beside])
            value = (
                value - np.where(np.isfinite(control), control, 0) if self.task.relative_to_control else value
            )
            more["weight"] = precision([one.sem for one in beside], [one.n for one in beside])
            more["covariates"] = self.recorded.covariates(self.spent)[used]
            more["metrics"] = self.recorded.metrics(self.spent)[used]
        return Results.of(x, value, **more)

    def iterate(self) -> int:
        before = self.spent
        self._query(self.model.ask(self.results(), self.iterations + 1)[None])
        self._ends.append(self.spent)
        return self.spent - before

    @property
    def x(self) -> np.ndarray:
        return self.recommendation.x

    @property
    def recommendation(self) -> Recommendation:
        """What all values so far speak for."""
        if self._known is None or self._known[0] != self.iterations:
            self._known = self.iterations, self.model.recommend(self.results(), self.iterations + 1)
        return self._known[1]

    def estimate(self) -> tuple[float | None, float | None, str]:
        if not self.iterations:
            return None, None, "no value is known"
        value = self.model.value(self.results(), self.x, self.iterations + 1)
        return value.mean, value.sd, f"the model of {self.iterations} values"

    def information(self, recorded: RecordedFunction, history: dict[str, Any]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if recorded.names:
            from driftopt.answers.effects import Effect, p_value

            given = history["covariates"] = recorded.covariates(self.spent)
            more["covariates"] = {}
            effects = (
                self.model.facts(self.results()).effects() if self.iterations else np.zeros(len(given.T))
            )
            for name, column, effect in zip(recorded.names, given.T, effects, strict=True):
                known = np.isfinite(column)
                spread = float(column[known].std()) if known.any() else 0.0
                chance = p_value(history["x"], column, history["iteration"], len(effects))
                each = float(effect) / spread if spread > 0 else 0.0
                more["covariates"][name] = Effect(name, int(known.sum()), each, chance)
        if recorded.metric_names:
            from driftopt.answers.limits import measured

            history["metrics"] = recorded.metrics(self.spent)
            away = self.space.distances(history["x"], self.x)
            near = np.argsort(away, kind="stable")[: max(4, len(away) // 8)]
            more["metrics"] = measured(recorded.metric_names, history["metrics"][near])
        return more
