"""From the options of `Study.create` to a StudySpec: every default is decided once, at creation."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftopt import checks
from driftopt.model.defaults import takes_model, units_of
from driftopt.plugins import OWN
from driftopt.space import Space
from driftopt.study.past import past
from driftopt.study.records import MODEL, StudyOptions, StudySpec, check_size, planned

_ROUNDING = 1 + 1e-6  # directions are unit vectors in float32
_MOST_NUMBERS = 2_000_000  # of an iteration, all of whose points are in one row of the log
UNEVEN = 10.0  # times as wide as another: no one length is right for both


def specify(given: StudyOptions) -> StudySpec:
    """The specification of a new study from its options, each of which was checked by itself."""
    plan: dict[str, Any] = dict(given)
    x0, names = plan.pop("x0"), plan.pop("names")
    if isinstance(x0, Mapping):
        if names is not None:
            raise ValueError("x0 names its coordinates: leave names out")
        x0, names = list(x0.values()), list(x0)
    rules = {part: plan.pop(part) for part in ("bounds", "constraints", "grid")}
    try:
        space = Space.build(x0, names=names, **rules)
    except ValueError as error:  # in the owner's names
        named = re.sub(
            r"\bx0\[(\d+)\]|\bcoordinate (\d+)\b",
            lambda found: names[int(found[1] or found[2])] if names else found[0],
            str(error),
        )
        raise ValueError(named) from None
    if plan["direction"] is None:
        margin = isinstance(plan["objective"], Mapping) and "margin" in plan["objective"]
        if plan["unit"] or margin:
            raise ValueError('direction is needed: "maximize" where more is better, or "minimize"')
        plan["direction"] = "minimize"
    budget, reserve, held = plan["budget"], plan["reserve"], plan["settle"]
    if 0 < reserve < 2 * held:
        way = "" if plan["max_change"] is None else ", way not counted"
        raise ValueError(
            f"reserve must be 0 or at least {2 * held}, for a deployment of the start and one of the "
            f"recommendation{way}; got {reserve}. Better {4 * held}: one pair tells an improvement only with "
            "the standard errors (sem) of its values"
        )
    if reserve and budget is None:
        raise ValueError("reserve keeps deployments of a budget: give a budget, or leave reserve out")
    for part in ("covariates", "outputs"):
        plan[part] = list(plan[part] or ())
    for part in ("limits", "contexts"):
        plan[part] = plan[part] or {}
    if callable(plan["objective"]) and plan["contexts"]:
        raise ValueError("objective must be one of the named kinds where there are contexts; got a function")
    plan["season"] = list(plan["season"] or ())
    plan["history"] = past(plan["history"] or (), space, plan)
    plan["objective"] = checked_objective(plan["objective"], plan["outputs"], space.dim)
    rng, radius, method, params = (plan.pop(part) for part in ("rng", "radius", "method", "params"))
    tolerance, name = plan.pop("tolerance"), method or "auto"
    if takes_model(name, budget, space.dim):
        space, own = _model(space, radius, params, plan, tolerance)
    else:
        of_model = ("max_loss", "max_loss_total", "outputs", "objective", "contexts", "season", "history")
        if asked := [part for part in of_model if plan[part]]:
            raise ValueError(f"{', '.join(asked)}: for the model alone; leave method={method!r} out")
        name = "walk" if name == "auto" else name
        space, own = _sequential(name, space, radius, params, plan, tolerance)
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if rng is None else rng
    return StudySpec(
        x0=space.start.tolist(),
        names=list(space.names),
        bounds=space.given.get("bounds"),
        steps={key: value for key, value in space.given.items() if key != "bounds"},
        seed=seed,
        **plan,
        **own,
    )


def checked_objective(given: Any, outputs: Sequence[str], dim: int) -> dict[str, Any] | None:
    """How the value follows from the outputs, in JSON's types.

    >>> checked_objective({"margin": {"cost": [1, 2]}}, ["tea", "mug"], 2)
    {'margin': {'cost': [1.0, 2.0], 'fixed': 0.0}}
    """
    if given is None:
        if outputs:
            raise ValueError(
                'outputs need an objective: {"margin": {"cost": [...]}}, "sum" or {"weighted": [...]}'
            )
        return None
    if not outputs:
        raise ValueError("objective needs outputs: a name for each")
    if callable(given):
        return {"function": getattr(given, "__name__", "it")}
    many = len(outputs)
    kinds = ("sum", "margin", "weighted")
    kind, rest = (
        (given, None) if isinstance(given, str) else next(iter(checks.table("objective", given).items()))
    )
    match checks.choice("objective", kind, kinds):
        case "sum":
            return {"weighted": [1.0] * many}
        case "weighted":
            return {"weighted": checks.vector("the objective's weights", rest, many).tolist()}
        case _:
            if many != dim:
                raise ValueError(f"a margin has an output for each of the {dim} coordinates; got {many}")
            parts = checks.table("the objective's margin", rest)
            if set(parts) - {"cost", "fixed"} or "cost" not in parts:
                raise ValueError('a margin is {"cost": [...], "fixed": number}')
            cost = checks.vector("the objective's cost", parts["cost"], many).tolist()
            return {"margin": {"cost": cost, "fixed": float(checks.number("fixed", parts.get("fixed", 0.0)))}}


def _model(
    space: Space, radius: Any, params: Mapping[str, Any] | None, plan: Mapping[str, Any], tolerance: Any
) -> tuple[Space, dict[str, Any]]:
    """The space in its units, and the fields of a specification that are the model's."""
    numbers = checks.table("params", params)
    radius = numbers.pop("radius", None) if radius is None else radius
    if numbers:
        raise ValueError(f"params: the model has no {', '.join(numbers)}")
    if tolerance is not None:
        raise ValueError("tolerance is for methods by name: the model uses a value where it was measured")
    if plan["budget"] is not None and plan["budget"] - plan["reserve"] < plan["settle"]:
        raise ValueError(
            f"a budget of {plan['budget']} with a reserve of {plan['reserve']} is too small: the search "
            f"needs {plan['settle']} deployments at least"
        )
    plain = space
    if radius is None and plan["max_change"] is not None:
        _check_widths(space, space.sized(None)[0])
    space, sizes = units_of(space, radius)
    space.check_trials(None)
    if plan["max_change"] is not None:
        space = plain if radius is None else space  # which measures it
        _room(plan["max_change"], space)
    return space, {
        "method": MODEL,
        "params": {},
        "tolerance": None,
        "units": sizes.tolist(),
        "points": 1,
        "repeats": 1,
        "provider": OWN,
        "begun": None,
    }


def _sequential(
    name: str,
    space: Space,
    radius: Any,
    params: Mapping[str, Any] | None,
    plan: Mapping[str, Any],
    tolerance: Any,
) -> tuple[Space, dict[str, Any]]:
    """The space in its units, and the fields of a specification that are a sequential method's."""
    from driftopt import methods
    from driftopt.method import check_spacing

    budget, reserve, held = plan["budget"], plan["reserve"], plan["settle"]
    if budget is None:
        raise ValueError(f"{name} plans for a budget: give one, or leave method out for the model")
    if held > 1 and plan["parallel"] > 1:
        raise ValueError(f"settle={held} holds one decision at a time: leave parallel={plan['parallel']} out")
    usable = budget - reserve
    own = planned(budget, reserve, plan["control_every"], held)
    space, built, given = _method(name, radius, params, own, plan["parallel"], plan["max_change"], space)
    space.check_trials(given.get("max_radius") if built.finds_radius else built.radius)
    check_spacing(built, space.begin(float(built.radius)), np.float64)
    points, repeats = built.points(space.dim), int(built.batch)
    if points * space.dim > _MOST_NUMBERS:
        raise ValueError(
            f"an iteration of {name} has {points} points of {space.dim} coordinates, more than "
            f"{_MOST_NUMBERS:,} numbers: lower parallel or directions, or choose auto"
        )
    check_size(points, repeats)
    needed = points * repeats * held * (1 + built.warmup)
    if reserve and usable < needed:
        raise ValueError(
            f"a budget of {budget} with a reserve of {reserve} is too small: of the deployments it leaves "
            f"{max(usable, 0)} to the method, which needs {needed} for its first step; raise the budget "
            "or lower the reserve"
        )
    checks.budget(max(usable, 1), points * repeats * held, 1 + built.warmup)
    begun = space.begin(float(built.radius))  # half a trial inside the bounds
    # A method of others may have no radius.
    _, sizes = units_of(space, float(built.radius) if built.radius > 0 else None)
    return space, {
        "method": name,
        "params": given,
        "tolerance": float(
            0.1 * built.radius if tolerance is None else checks.positive("tolerance", tolerance)
        ),
        "units": sizes.tolist(),
        "points": points,
        "repeats": repeats,
        "provider": methods.entry(name).provider,
        "begun": None if np.array_equal(begun, space.start) else begun.tolist(),
    }


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
    """The part of `max_change` that rounding to a grid leaves."""
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
    # Queries are x ± radius·u and one iteration moves x by reach·radius at most, so that two consecutive
    # deployments are at most 2 radius (1 + reach) apart.
    widest = room / (2 * (1 + reach) * _ROUNDING)
    if radius is not None and checks.one_positive("radius", radius) > widest:
        raise ValueError(
            f"radius {radius:g} moves consecutive deployments by up to {2 * radius * (1 + reach):g}, "
            f"more than max_change {room:g}: lower it to {widest:g} or leave it out"
        )
    return widest if radius is None else radius


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Numbers as JSON knows them; an array would be many studies in one."""
    for key, value in params.items():
        if isinstance(value, np.generic):
            params[key] = value.item()
        elif value is not None and not isinstance(value, int | float | str):
            raise ValueError(f"params[{key!r}] must be a single number or word, got {checks.brief(value)}")
    return params
