"""A sequential method in a study: the set of results, told to it in the order of asking.

An iteration has a place for each of its points and fresh samples. It is over once every place has a result
that stands, once another iteration was opened, or once a place has failed too often: the method is told the
means of what stands, or, where a point has nothing, only that an iteration has passed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftopt import averages
from driftopt.answers.beside import NOTHING, Beside
from driftopt.answers.effects import Effect, found, of_trials
from driftopt.drivers.host import Host
from driftopt.runtime.forks import refuse_after_fork
from driftopt.study.errors import ReplayError
from driftopt.study.log import Opened, Writer, vector_from_json
from driftopt.study.records import StudySpec
from driftopt.study.state import Entry, State, answered
from driftopt.study.trial import Place

# The (p,) values of an iteration, or the budget that the method plans for from there on
Step = np.ndarray | int


class SequentialRule:
    """The next decision and the recommendation of a study that uses a sequential method."""

    def __init__(self, spec: StudySpec):
        self.spec = spec
        # of each iteration: of which rows, memory, values
        self._told: list[tuple[object, Any, np.ndarray]] = []
        self._host: Replay | None = None

    def prepare(self, state: State, now: float) -> None:
        """Compute what is needed next, so that no lock is held meanwhile."""
        if open_one(state, now) is None:
            self.decisions(state, now)

    def replaced(self, state: State, entry: Entry) -> bool:
        """Whether a trial's place was handed out again."""
        return places_of(state).get(entry.asked.place, [entry])[-1] is not entry

    def price(self, state: State, now: float) -> tuple[int, str]:
        """How many deployments of the budget a question begins, 0 if every point is pending; and of what."""
        opened = open_one(state, now)
        if opened is None:
            return self.spec.size * self.spec.settle, "the next iteration"
        return int(free(state, opened, now) is not None), "the open iteration"

    def next(
        self, state: State, writer: Writer, context: Mapping[str, str], now: float
    ) -> tuple[Place, np.ndarray]:
        """The place to hand out and its decision; opens an iteration where none is open."""
        opened = open_one(state, now)
        if opened is None:
            points = self.decisions(state, now)
            writer.open(len(state.opened), points, self.spec.repeats, now)
            return Place("method", len(state.opened)), points[0]
        place = free(state, opened, now)
        assert place is not None, "who asks has looked"
        return place, vector_from_json(opened.points)[place.point]

    def recommend(self, state: State, context: Mapping[str, str], now: float) -> tuple[np.ndarray, None]:
        """The recommendation; nothing is known of its gain."""
        return self._follow(state, now).recommendation(), None

    def effects(self, state: State, now: float) -> tuple[Effect, ...]:
        """What each covariate adds to the value, and whether it moves with the decision."""
        told = self._values(state, now)
        memory = told[-1][1] if told else self.spec.answers.begin()
        seen = of_trials(self.spec.covariates, state.trials(now))
        return tuple(found(self.spec.answers, memory, seen).values())

    def verify(self, state: State, now: float) -> None:
        """Replay the study; ReplayError where the method does not lead to the points in the log."""
        SequentialRule(self.spec)._follow(state, now)

    def _values(self, state: State, now: float) -> list[tuple[object, Any, np.ndarray]]:
        """What the method is told of each iteration that is over; known ones are not computed again."""
        done: list[tuple[object, Any, np.ndarray]] = []
        memory, answers = self.spec.answers.begin(), self.spec.answers
        controls = answered(state.of_kind("control")) if self.spec.relative_to_control else []
        places = places_of(state)
        for i, opened in enumerate(state.opened):
            if not over(state, opened, now, places):
                break
            stand = [next(iter(answered(places.get(place, []))), None) for place in slots(opened)]
            before = [None if one is None else self._control(controls, one) for one in stand]
            key = [None if one is None else one.stands for one in (*stand, *before)]
            if i < len(self._told) and self._told[i][0] == key and (i == 0 or done[-1] is self._told[i - 1]):
                done.append(self._told[i])
            else:
                shape = (opened.repeats, opened.count)
                samples = np.array([_value(one) for one in stand], np.float64).reshape(shape)
                void = np.isnan(samples)
                if void.all(axis=0).any():
                    done.append((key, memory, np.full(opened.count, np.nan)))
                else:
                    rest = averages.mean(np.where(void, 0.0, samples)) * (len(samples) / (~void).sum(axis=0))
                    samples = np.where(void, rest, samples) if void.any() else samples
                    told = [_said(one, other) for one, other in zip(stand, before, strict=True)]
                    after, values = answers.take(memory, samples, answers.beside(told, shape))
                    done.append((key, after, values))
            memory = done[-1][1]
        self._told = done
        return done

    @staticmethod
    def _control(controls: Sequence[Entry], entry: Entry) -> Entry | None:
        """The last control before a trial."""
        return next((one for one in reversed(controls) if one.number < entry.number), None)

    def steps(self, state: State, now: float) -> list[Step]:
        """All that the method is told."""
        steps: list[Step] = [values for _, _, values in self._values(state, now)]
        for shift, (count, budget) in enumerate(state.extended):
            steps.insert(min(count + shift, len(steps)), self.spec.planned(budget))
        return steps

    def decisions(self, state: State, now: float) -> np.ndarray:
        """The decisions of the iteration after those that are over."""
        return self._follow(state, now).decisions()

    def _follow(self, state: State, now: float) -> "Replay":
        """The method after all that it is told."""
        refuse_after_fork()
        steps = self.steps(state, now)
        known, self._host = self._host, None  # an interruption leaves none: the next call replays all
        if known is None or not known.begins(steps):
            known = Replay(self.spec)
            if not state.amended:
                known.check(steps, state)
        known.follow(steps)
        self._host = known
        return known


def _value(entry: Entry | None) -> float:
    told = None if entry is None else entry.stands
    return np.nan if told is None or told.value is None else told.value


def _said(entry: Entry | None, control: Entry | None) -> Beside:
    """What came with a value; the value of the last control where none was reported with it."""
    told = None if entry is None else entry.stands
    if entry is None or told is None:
        return NOTHING
    before = None if control is None else _value(control)
    here = before if entry.beside.control is None else entry.beside.control
    return entry.beside._replace(sem=told.sem, control=here)


class Replay(Host):
    """A `Host` that takes each step once."""

    def __init__(self, spec: StudySpec):
        from driftopt import methods

        self._spec, self._params = spec, dict(spec.params)
        self._begun = spec.start if spec.begun is None else np.array(spec.begun)
        methods.entry(spec.method, spec.provider)  # names the package where it is not installed
        assert spec.budget is not None
        super().__init__(self._planned(spec.planned(spec.budget)), self._begun, spec.seed)
        self._steps: list[Step] = []
        self._points: np.ndarray | None = None

    def _planned(self, budget: int) -> Any:
        from driftopt import methods

        return methods.get(self._spec.method, **self._params).for_budget(budget)

    def begins(self, steps: Sequence[Step]) -> bool:
        """Whether what was taken so far is the beginning of these steps."""

        def same(one: Step, other: Step) -> bool:
            return one is other or (isinstance(one, int) and isinstance(other, int) and one == other)

        return len(self._steps) <= len(steps) and all(map(same, self._steps, steps))

    def check(self, steps: Sequence[Step], state: State) -> None:
        """Compare the points before the last step with those in the log."""
        told = [i for i, step in enumerate(steps) if not isinstance(step, int)]
        if not told:
            return
        self.follow(steps[: told[-1]])
        asked, replayed = vector_from_json(state.opened[self.told].points), self.decisions()
        space = self._spec.space
        away = max(space.distance(one, other) for one, other in zip(asked, replayed, strict=True))
        farthest = max(space.distance(one, np.zeros(space.dim)) for one in asked)
        # Rounding adds up over a long study to far less than the radius; on a grid it may be a step.
        radius = space.distance(np.array(self._spec.units), np.zeros(space.dim)) / space.dim**0.5
        if not away <= 1e-3 * radius + 1e-9 * farthest + space.slack:
            raise ReplayError(
                f"replaying {self.told} iterations leads {away:.3g} away from the log: the method is not the "
                "one that asked; use the version of driftopt that created the study"
            )

    def follow(self, steps: Sequence[Step]) -> None:
        """Take the steps that are new."""
        run: list[np.ndarray] = []
        for step in steps[len(self._steps) :]:
            if isinstance(step, int):
                self._replay(run)
                self._plan_for(step)
                run = []
            else:
                run.append(step)
        self._replay(run)
        self._steps = list(steps)

    def _replay(self, run: Sequence[np.ndarray]) -> None:
        if run:
            self.replay(np.stack(run))
            self._points = None

    def _plan_for(self, budget: int) -> None:
        """Go on from here with a plan for another budget."""
        if "budget" in self._params:
            self._params |= {"budget": budget}
        self.method = self._planned(budget)
        self._points = None

    def decisions(self) -> np.ndarray:
        """The decisions of the next iteration."""
        if self._points is None:
            self._points = self._spec.space.deploy(self.points, (self._spec.seed, self.told, 0))
        return self._points

    def recommendation(self) -> np.ndarray:
        """The decision to report."""
        return self._spec.space.report(self.recommend(), self._begun)


# Iterations: which of their places still need a result


def slots(opened: Opened) -> list[Place]:
    """The places of an iteration: the points in turn, and repeats of them a round later.

    A world that drifts slowly then biases both sides of a difference alike.
    """
    pairs = [(point, sample) for sample in range(opened.repeats) for point in range(opened.count)]
    return [Place("method", opened.iteration, point, sample) for point, sample in pairs]


def places_of(state: State) -> dict[Place, list[Entry]]:
    """What was asked for each place of the method."""
    places: dict[Place, list[Entry]] = {}
    for entry in state.of_kind("method"):
        places.setdefault(entry.asked.place, []).append(entry)
    return places


def over(state: State, opened: Opened, now: float, places: dict[Place, list[Entry]]) -> bool:
    """Whether an iteration can be told: each place has a result, or one of them has failed too often.

    So can one that another iteration was opened after.
    """

    def lost(tries: Sequence[Entry]) -> bool:
        return sum(not one.out(now) for one in tries) >= state.spec.max_failures and not answered(tries)

    tries = [places.get(place, []) for place in slots(opened)]
    begun = opened.iteration + 1 < len(state.opened)
    return begun or all(answered(one) for one in tries) or any(lost(one) for one in tries)


def open_one(state: State, now: float) -> Opened | None:
    """The iteration whose results are awaited; None: the next question opens one."""
    last = state.opened[-1] if state.opened else None
    return None if last is None or over(state, last, now, places_of(state)) else last


def free(state: State, opened: Opened, now: float) -> Place | None:
    """The first place of an iteration that needs a deployment and has none out."""
    places = places_of(state)
    for place in slots(opened):
        tries = places.get(place, [])
        if not answered(tries) and not any(one.out(now) for one in tries):
            return place
    return None
