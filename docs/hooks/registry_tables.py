"""Methods, problems and the verbs of a study as tables: a new one appears by joining its registry."""

from driftopt import methods, problems
from driftopt.study.records import StudyOptions, fields_of
from driftopt.study.verbs import VERBS


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


def study_options() -> str:
    """Markdown: the arguments of Study.create, one a row."""
    rows = [
        f"| `{part.name}` | {'needed' if part.name == 'x0' else f'`{part.default!r}`'} | {cell(part.help)} |"
        for part in fields_of(StudyOptions)
    ]
    return "\n".join(["| argument | default | meaning |", "|---|---|---|", *rows])


def http_page() -> str:
    """The page on HTTP: an address for every verb, and the fields of its record."""
    lines = [
        "# HTTP",
        "",
        "Addresses of a study begin with `/v1/studies/NAME`. `POST` takes its fields as a JSON object, "
        "`GET` as a query. The token goes into the header `Authorization: Bearer …`. How to begin: "
        "[put studies on a server](../guides/service.md). `/docs` on your server describes all of it.",
        "",
        "| | address | role | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {'POST' if verb.changes else 'GET'} | `…{verb.path}` | {verb.role} | {cell(verb.help)} |"
        for verb in VERBS.values()
    ]
    for verb in VERBS.values():
        if parts := fields_of(verb.record):
            lines += ["", f"## {verb.name}", "", "| field | meaning |", "|---|---|"]
            lines += [f"| `{part.name}` | {cell(part.help)} |" for part in parts]
    return "\n".join(lines) + "\n"
