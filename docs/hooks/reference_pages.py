"""The API reference: one page a part, one entry a public name, all read from `__all__`.

A public name appears here by joining `__all__`. One without a docstring stops the build, and so does a field
that neither a comment nor its class's docstring explains.
"""

import inspect
from importlib import import_module
from typing import Any

from field_comments import unexplained

# page: (title, what it is for, modules; of driftopt itself, the names)
PAGES = {
    "reference/study.md": (
        "Study",
        "Ask and tell on a live system. How to begin: [your first live study](../tutorials/live-prices.md). "
        "The arguments of `create`: [options of a study](../options.md).",
        ("driftopt.study",),
        ("Study", "season", "CovariateWarning"),
    ),
    "reference/minimize.md": (
        "minimize",
        "Optimise a noisy Python function: [your first search](../tutorials/noisy-function.md).",
        (),
        ("minimize", "scipy_method", "MinimizeResult", "MinimizeError", "MinimizeInterrupted"),
    ),
    "reference/simulate.md": (
        "simulate",
        "Compiled runs on a JAX problem: [simulate your own problem](../tutorials/own-problem.md).",
        (),
        ("simulate", "simulate_many", "stack", "check", "Trace", "Stack", "Problem", "Method"),
    ),
    "reference/compare.md": (
        "compare",
        "Methods judged with statistics, and other libraries' optimisers: [compare methods](../compare.md).",
        ("driftopt.comparison", "driftopt.outside", "driftopt.generator"),
        ("compare",),
    ),
    "reference/sweep.md": (
        "Sweeps",
        "Grids × seeds × instances on any executor: [large sweeps](../scale.md).",
        ("driftopt.sweep",),
        (),
    ),
    "reference/methods.md": (
        "Methods",
        "Methods by name, and the parts of your own method. Their parameters: "
        "[methods and their parameters](../methods.md).",
        ("driftopt.methods", "driftopt.pytree"),
        (),
    ),
    "reference/problems.md": (
        "Problems",
        "Simulated problems whose exact objectives are known: [problems](../problems.md).",
        ("driftopt.problems",),
        (),
    ),
    "reference/theory.md": (
        "Theory and certificates",
        "Parameters and counts of the theorems, and how stationary a decision is.",
        ("driftopt.theory", "driftopt.stationarity"),
        (),
    ),
    "reference/contracts.md": (
        "Contracts",
        "The objects that methods, problems and drivers exchange, for authors of "
        "[methods](../tutorials/own-method.md) and [problems](../tutorials/own-problem.md).",
        (
            "driftopt.oracle",
            "driftopt.problem",
            "driftopt.space",
            "driftopt.answers",
            "driftopt.plugins",
            "driftopt.rng",
        ),
        (),
    ),
    "reference/data.md": ("Data", "Sources of real data.", ("driftopt.data",), ()),
}


def reference_pages() -> dict[str, str]:
    """Every page of the reference as Markdown for mkdocstrings.

    Raises:
        ValueError: A public name or field is not explained, or a public part of driftopt has no page.
    """
    shown = {module for _, _, modules, _ in PAGES.values() for module in modules}
    top = {name for *_, names in PAGES.values() for name in names}
    missing = [
        f"driftopt.{name}, which has no page in {__file__}"
        for name in public_names("driftopt")
        if name not in top and f"driftopt.{name}" not in shown
    ]
    pages = {}
    for path, (title, purpose, modules, names) in PAGES.items():
        lines = [f"# {title}", "", purpose, ""]
        for module, those in [("driftopt", list(names)), *((one, in_order(one, top)) for one in modules)]:
            missing += undocumented(module, those)
            if len(modules) > 1 and module != "driftopt":
                lines += [f"`{module}`", ""]
            for name in those:
                if inspect.ismodule(getattr(import_module(module), name)):
                    if f"{module}.{name}" not in shown:
                        missing.append(f"{module}.{name}, which has no page in {__file__}")
                    continue
                lines += [f"::: {module}.{name}", ""]
        pages[path] = "\n".join(lines) + "\n"
    if missing:
        raise ValueError(f"no docstring, or for a field no comment: {', '.join(sorted(missing))}")
    return pages


def in_order(module: str, top: set[str]) -> list[str]:
    """A module's public names: functions, classes, exceptions; without names of driftopt itself."""
    loaded = import_module(module)
    names = [
        name
        for name in public_names(module)
        if not (name in top and getattr(loaded, name) is getattr(import_module("driftopt"), name))
    ]
    return sorted(names, key=lambda name: (rank(getattr(loaded, name)), name.lower()))


def public_names(module: str) -> list[str]:
    """What a module offers: its `__all__`, or what it defines without an underscore."""
    loaded = import_module(module)
    if hasattr(loaded, "__all__"):
        return [name for name in loaded.__all__ if name != "__version__"]
    return [
        name
        for name, value in vars(loaded).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module
        and is_documented_kind(value)
    ]


def rank(value: Any) -> int:
    """What is called comes first, then what comes back, then what may go wrong."""
    if not inspect.isclass(value):
        return 0
    return 2 if issubclass(value, BaseException) else 1


def is_documented_kind(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def undocumented(module: str, names: list[str]) -> list[str]:
    """Functions, classes, and their own methods, properties and fields, about which nothing is said."""
    found: list[str] = []
    for name in names:
        value = getattr(import_module(module), name)
        if not is_documented_kind(value):
            continue
        found += [] if own_docstring(value) else [f"{module}.{name}"]
        if inspect.isclass(value):
            parts = {
                part: inspect.getattr_static(value, part) for part in vars(value) if not part.startswith("_")
            }
            found += [
                f"{module}.{name}.{part}"
                for part, what in parts.items()
                if (inspect.isroutine(what) or isinstance(what, property))
                and not inspect.getdoc(getattr(value, part))
            ]
            found += [f"{module}.{name}.{field}" for field in unexplained(value)]
    return found


def own_docstring(value: Any) -> str | None:
    """A docstring that somebody wrote: a dataclass without one gets its signature."""
    text = value.__doc__
    generated = inspect.isclass(value) and text is not None and text.startswith(f"{value.__name__}(")
    return None if generated else text
