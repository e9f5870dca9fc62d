"""The API reference: one page a part, one entry a public name, all read from `__all__`.

A public name appears here by joining `__all__`. One without a docstring stops the build, and so does a field
that neither a comment nor its class's docstring explains.
"""

import inspect
from importlib import import_module
from typing import Any

from field_comments import unexplained

# page: (title, what it is for, modules whose public names it shows)
PAGES = {
    "reference/driftopt.md": (
        "The front doors",
        "What `import driftopt` gives. Names load when they are first used.",
        ("driftopt",),
    ),
    "reference/methods.md": (
        "Methods",
        "Methods by name, and what a method of your own is made of. Their numbers: "
        "[methods and their parameters](../methods.md).",
        ("driftopt.methods", "driftopt.pytree"),
    ),
    "reference/problems.md": (
        "Problems",
        "Simulated problems whose exact objectives are known. Their stories: [problems](../problems.md).",
        ("driftopt.problems",),
    ),
    "reference/study.md": (
        "Studies",
        "Ask and tell on a live system. How it behaves: [live studies](../studies.md).",
        ("driftopt.study",),
    ),
    "reference/sweep.md": (
        "Sweeps and comparisons",
        "Grids × seeds × instances, methods judged with statistics, and the optimisers of others.",
        ("driftopt.sweep", "driftopt.comparison", "driftopt.outside", "driftopt.generator"),
    ),
    "reference/theory.md": (
        "Theory and certificates",
        "What the theorems ask for, and how stationary a decision is.",
        ("driftopt.theory", "driftopt.stationarity"),
    ),
    "reference/contracts.md": (
        "Contracts",
        "What methods, problems and drivers hand each other: for authors of methods and problems, and who "
        "gives a `Space`. How to begin: [your own method](../tutorials/own-method.md), "
        "[your own problem](../tutorials/own-problem.md).",
        (
            "driftopt.oracle",
            "driftopt.problem",
            "driftopt.space",
            "driftopt.answers",
            "driftopt.plugins",
            "driftopt.rng",
        ),
    ),
    "reference/data.md": ("Data", "Where real data comes from.", ("driftopt.data",)),
}


def reference_pages() -> dict[str, str]:
    """Every page of the reference as Markdown for mkdocstrings.

    Raises:
        ValueError: A public name or field is not explained, or a public part of driftopt has no page.
    """
    shown = {module for _, _, modules in PAGES.values() for module in modules}
    missing: list[str] = []
    pages = {}
    for path, (title, purpose, modules) in PAGES.items():
        lines = [f"# {title}", "", purpose, ""]
        for module in modules:
            names = public_names(module)
            missing += undocumented(module, names)
            if len(modules) > 1:
                lines += [f"`{module}`", ""]
            lines += entries(module, names, shown)
        pages[path] = "\n".join(lines) + "\n"
    if missing:
        raise ValueError(f"no docstring, or for a field no comment: {', '.join(sorted(missing))}")
    return pages


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


def entries(module: str, names: list[str], shown: set[str]) -> list[str]:
    """A directive for each name; for a submodule a line that leads to its page."""
    lines: list[str] = []
    for name in sorted(names, key=lambda name: (rank(getattr(import_module(module), name)), name.lower())):
        value = getattr(import_module(module), name)
        if inspect.ismodule(value):
            if value.__name__ not in shown:
                raise ValueError(f"{value.__name__} is public and has no page in {__file__}")
            continue
        lines += [f"::: {module}.{name}", ""]
    return lines


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
