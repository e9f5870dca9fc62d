"""Methods and problems as tables, made from the registries: a new one appears by joining its registry."""

from driftopt import methods, problems


def method_tables() -> str:
    """Markdown: an overview, then for each method its parameters with defaults and meanings."""
    lines = ["| method | what it is |", "|---|---|"]
    lines += [
        f"| [`{name}`](#{anchor(name)}) | {cell(methods.entry(name).summary)} |" for name in methods.names()
    ]
    for name in methods.names():
        lines += ["", *one_method(name)]
    return "\n".join(lines)


def one_method(name: str) -> list[str]:
    """A heading, what the method is, and one row a parameter."""
    entry = methods.entry(name)
    lines = [f"### `{name}` {{ #{anchor(name)} }}", "", f"{entry.summary[0].upper()}{entry.summary[1:]}.", ""]
    lines += ["| parameter | default | meaning |", "|---|---|---|"]
    for one in entry.described():
        default = "must be given" if one.required else f"`{one.default!r}`"
        lines.append(f"| `{one.name}` | {default} | {cell(one.meaning)} |")
    return lines


def anchor(name: str) -> str:
    """A method's name as a place on the page."""
    return name.replace("+", "-plus")


def cell(text: str) -> str:
    """Text that stays in its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def problem_rows() -> str:
    """Markdown: one row a problem, what the registry knows of it."""
    return "\n".join(one_problem(name) for name in problems.names())


def one_problem(name: str) -> str:
    """Dimension, how the two points are known, and whether there are carry-over effects."""
    known, facts = problems.entry(name).known, ["?"] * 4
    if known is not None:
        facts = [str(known.dim), known.optimum, known.stable_point, "yes" if known.memory else ""]
    return " | ".join(["", f"`{name}`: {cell(problems.entry(name).summary)}", *facts, ""]).strip()
