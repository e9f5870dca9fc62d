"""From the user's arguments to a Spec: everything is checked and every default decided once, at creation."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.answers import beside
from driftopt.answers.limits import checked
from driftopt.space import Space
from driftopt.study import approach
from driftopt.study.max_change import check_radius, widest_radius
from driftopt.study.spec import Spec, check_size, planned

MOST_PARALLEL = 1000
_MOST_NUMBERS = 2_000_000  # of an iteration, all of whose points are in one row of the log
UNEVEN = 10.0  # times as wide as another: no one length is right for both


def specify(
    *,
    x0: Any,
    decisions: Mapping[str, Any],
    radius: Any,
    method: str | None,
    params: Mapping[str, Any] | None,
    budget: int,
    direction: str,
    rng: Any,
    parallel: int,
    lease: float | None,
    max_failures: int,
    tolerance: float | None,
    max_change: float | None,
    control_every: int | None,
    reserve: int,
    settle: int,
    guard: float | None,
    covariates: Any,
    limits: Any,
    relative_to_control: Any,
) -> Spec:
    """The specification of a new study; `decisions` are the arguments of `Space.build` beside x0."""
    from driftopt.method import check_spacing
    from driftopt.rng.seeds import as_seed

    space = Space.build(x0, **decisions)
    if reserve != 0:
        reserve = checks.one_count("reserve", reserve)
    usable = checks.one_count("budget", budget) - reserve
    limit = None if max_change is None else checks.one_positive("max_change", max_change)
    if method is not None and not isinstance(method, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            "method must be a name, because a study outlives the program: give a method of your own one with "
            f"driftopt.methods.register; got {checks.brief(method)}"
        )
    width = checks.one_count("parallel", parallel, MOST_PARALLEL)
    name = method or "auto"
    every = None if control_every is None else checks.one_count("control_every", control_every)
    held = checks.one_count("settle", settle)
    if held > 1 and width > 1:
        raise ValueError(f"settle={held} holds one decision at a time: leave parallel={width} out")
    own = planned(usable + reserve, reserve, every, held)
    space, built, given = _method(name, radius, params, own, width, limit, space)
    space.check_trials(given.get("max_radius") if built.finds_radius else built.radius)
    check_spacing(built, space.begin(float(built.radius)), np.float64)
    points, repeats = built.points(space.dim), int(built.batch)
    if points * space.dim > _MOST_NUMBERS:
        raise ValueError(
            f"an iteration of {name} has {points} points of {space.dim} coordinates, more than "
            f"{_MOST_NUMBERS:,} numbers: lower parallel or directions, or choose auto"
        )
    check_size(points, repeats)
    if 0 < reserve < 2 * held:
        way = "" if limit is None else ", way not counted"
        raise ValueError(
            f"reserve must be 0 or at least {2 * held}, for a deployment of the start and one of the "
            f"recommendation{way}; got {reserve}. Better {4 * held}: one pair tells an improvement only with "
            "the standard errors (sem) of its values"
        )
    needed = points * repeats * held * (1 + built.warmup)
    if reserve and usable < needed:
        raise ValueError(
            f"a budget of {budget} with a reserve of {reserve} is too small: of the deployments it leaves "
            f"{max(usable, 0)} to the method, which needs {needed} for its first step; raise the budget "
            "or lower the reserve"
        )
    checks.budget(max(usable, 1), points * repeats * held, 1 + built.warmup)
    reach = built.reach_in(space.dim)
    spec = Spec(
        x0=space.start.tolist(),
        names=list(space.names),
        method=name,
        params=given,
        budget=int(budget),
        bounds=space.given.get("bounds"),
        steps={key: value for key, value in space.given.items() if key != "bounds"},
        direction=checks.choice("direction", direction, ("minimize", "maximize")),
        seed=as_seed(rng),
        parallel=width,
        lease=None if lease is None else checks.one_positive("lease", lease),
        max_failures=checks.one_count("max_failures", max_failures),
        tolerance=float(0.1 * built.radius if tolerance is None else checks.positive("tolerance", tolerance)),
        max_change=limit,
        control_every=every,
        reserve=reserve,
        radius=float(built.radius),
        reach=None if reach is None else float(reach),
        points=points,
        repeats=repeats,
        provider=_provider(name),
        settle=held,
        guard=None if guard is None else float(checks.one_positive("guard", guard)),
        covariates=list(beside.names("covariates", covariates)),
        limits=checked(limits),
        relative_to_control=checks.flag("relative_to_control", relative_to_control),
        begun=_begun(space, float(built.radius)),
    )
    if limit is not None and reserve > 0:
        _check_promise(spec, 1 + built.warmup, float(given.get("max_radius") or built.radius))
    return spec


def _check_promise(spec: Spec, iterations: int, radius: float) -> None:
    """Refuse a reserve under `max_change` that cannot be kept, wherever the first iterations lead."""
    back = approach.farthest_way(spec, iterations)
    if math.isinf(back):
        raise ValueError(
            "max_change with a reserve promises that a recommendation can be confirmed wherever it is, and "
            "here it may be anywhere: give bounds, both sides of each coordinate; or a grid for every "
            "coordinate that constraints hold, with bounds on it; or reserve=0, which promises nothing"
        )
    there = approach.farthest_way(spec, iterations, radius + spec.space.rounding)
    kept = max(spec.reserve, int(there + back) + 2 * spec.settle)
    needed = int(there) + iterations * spec.size * spec.settle + kept
    if spec.budget < needed:
        raise ValueError(
            f"a budget of {spec.budget} is too small: max_change {spec.max_change:g} keeps {kept} "
            "deployments to go to the start and to the recommendation once, wherever they are, so that the "
            f"first step needs {needed}; raise the budget or max_change, or give reserve=0, which promises "
            "nothing"
        )


def _begun(space: Space, radius: float) -> list[float] | None:
    """Where the walk begins: half a trial inside the bounds; None where that is the start."""
    begun = space.begin(radius)
    return None if np.array_equal(begun, space.start) else begun.tolist()


def _provider(name: str) -> str:
    from driftopt import methods

    return methods.entry(name).provider


def _method(
    name: str,
    radius: Any,
    params: Mapping[str, Any] | None,
    budget: int,
    parallel: int,
    max_change: float | None,
    space: Space,
) -> tuple[Space, Any, dict[str, Any]]:
    """The space in its units, the method, and the parameters that build it again, all written out."""
    from driftopt import methods  # JAX: answering a study does without
    from driftopt.drivers.contract import check_points
    from driftopt.methods import defaults, registry
    from driftopt.oracle import check_study

    radius, numbers = defaults.radius_once(radius, params)
    tried = registry.tried(name, numbers, radius)
    check_study(name, tried.sees, tried.scheduled)
    if parallel > 1:
        if "directions" not in methods.entry(name).parameters:
            raise ValueError(f"{name} cannot be widened: parallel must be 1, or choose auto")
        if numbers.setdefault("directions", parallel) != parallel:
            raise ValueError(f"parallel={parallel} sets directions: leave {numbers['directions']} out")
    sized = defaults.sized(name, space, radius, numbers)
    if max_change is None or radius is not None:
        space, radius = sized
    else:
        _check_widths(space, space.sized(None)[0])
    plan: dict[str, Any] = {"dim": space.dim, "budget": budget, "params": numbers}
    if max_change is not None and "max_radius" in methods.entry(name).parameters:
        radius = _promised(radius, numbers, max_change, space)
    elif max_change is not None:
        # With radius 1 the reach is the share of the radius by which the iterate may move, 1/M.
        shape, _ = defaults.resolve(name, radius=1.0, **plan)
        radius = _limited(name, radius, shape, max_change, space)
    method, numbers = defaults.resolve(name, radius=radius, **plan)
    return space, check_points(method, space.dim), _plain(numbers)


def _check_widths(space: Space, sized: Space) -> None:
    """Refuse one length for coordinates of very different width: the widest would be moved nowhere."""
    widths = np.asarray(sized.given["units"], float) if sized is not space else np.ones(1)
    if widths.max() > UNEVEN * widths.min():
        raise ValueError(
            "max_change is one length for all coordinates, and the widths of the bounds differ: give radius, "
            "a number for each coordinate in which max_change is then measured, or one number for all"
        )


def _promised(radius: Any, numbers: dict[str, Any], max_change: float, space: Space) -> float:
    """The first guess of a method that promises a largest radius, with that promise in `numbers`.

    No trial is farther from the iterate than a third of what may be changed: the two of a pair are then
    within the limit. So are those of the next pair, unless the walk takes a long step, which is divided.
    """
    widest = _room(max_change, space) / 3
    given = numbers.setdefault("max_radius", widest)
    if checks.one_positive("max_radius", given) > 1.5 * widest:
        raise ValueError(
            f"max_radius {given:g} parts two deployments by more than max_change {max_change:g}: "
            f"lower it to {1.5 * widest:g} or leave it out"
        )
    return float(given if radius is None else min(checks.one_positive("radius", radius), given))


def _room(max_change: float, space: Space) -> float:
    """What is left of `max_change` beside rounding to a grid."""
    if np.isinf(space.stride):
        raise ValueError(
            "max_change with a grid needs constraints that leave a way of single steps: each coordinate must "
            "use up all sides of the rows it is in, or free them all, as in a budget or with one price above "
            "another; leave lb or ub of a row out, or the grid"
        )
    room = max_change - space.stride
    if not room > 0:
        raise ValueError(
            f"max_change must be more than {space.stride:.6g}, by which rounding to the grid may part two "
            f"deployments; got {max_change:g}"
        )
    return room


def _limited(name: str, radius: Any, shape: Any, max_change: float, space: Space) -> float:
    if shape.reach is None:
        raise ValueError(
            f"max_change needs a method with bounded steps, such as auto or zo-o2nc-2pt; {name} has none"
        )
    reach, room = float(shape.reach), _room(max_change, space)
    if radius is None:
        return widest_radius(room, reach)
    check_radius(checks.one_positive("radius", radius), room, reach)
    return radius


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Numbers as JSON knows them; an array would be many studies in one."""
    for key, value in params.items():
        if isinstance(value, np.generic):
            params[key] = value.item()
        elif value is not None and not isinstance(value, int | float | str):
            raise ValueError(f"params[{key!r}] must be a single number or word, got {checks.brief(value)}")
    return params
