"""report.html: the reproduction as one page that a reader can send to a colleague."""

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from driftopt.paper import published
from driftopt.paper.figure import colour, limits
from driftopt.paper.protocol import Experiment
from driftopt.paper.summary import Cell, Summary, title
from driftopt.paper.tables import cell_text, figure_text, number, number_short
from driftopt.report.page import HtmlTable, Item, Page, Panel, Section, Series, Strip
from driftopt.report.page import render as render_page

if TYPE_CHECKING:
    from driftopt.paper.reproduction import Reproduction

Row = tuple[str, Sequence[str], Sequence[Item]]

INTRO = {
    "strategic": "A bank publishes a linear classifier; applicants who are turned down change their features "
    "where that pays. The decision is the classifier, one query is the hinge loss of one applicant after the "
    "response, and the train loss is exact: the mean over all training rows.",
    "pricing": "A seller sets 30 prices and 120 buyers choose by a multinomial logit. One query is the "
    "negative profit of one simulated week; the final objective is exact, not sampled.",
}
OTHER_WEEKS = (
    "The paper’s weeks 202610 to 202613 are not public, so its figures (last rows) are of other instances. "
    "What can be compared is the order of the methods and the gap to the best known value."
)


def render(made: "Reproduction") -> str:
    """The page of a finished reproduction."""
    quick = made.manifest["protocol"] == "quick"
    badges = [("quick run: fewer seeds and configurations", "warn") if quick else ("full protocol", "")]
    for summary in made.summaries:
        e = summary.experiment
        badges.append((f"{e.title.lower()}: {e.provenance.source}", "" if e.real else "warn"))
    several = len(made.summaries) > 1
    found: list[tuple[str, bool | None, str]] = [
        (f"{s.experiment.title}: {f.claim}" if several else f.claim, f.holds, f.detail)
        for s in made.summaries
        for f in made.findings[s.experiment.name]
    ]
    names = list(dict.fromkeys(method for s in made.summaries for method in s.methods))
    page = Page(
        title="ZO-O2NC under decision-dependent data: the experiments, run again",
        subtitle="Six zeroth-order methods, tuned on development runs and judged on held-out runs, beside "
        "the figures the paper reports.",
        badges=badges,
        findings=found,
        sections=[_section(summary) for summary in made.summaries],
        methods={method: (title(method), colour(method, k)) for k, method in enumerate(names)},
        facts=_facts(made),
        notes=_notes(made),
        selections=_selections(made),
    )
    return render_page(page)


def _section(summary: Summary) -> Section:
    e = summary.experiment
    panels = [
        Panel(
            f"{e.instance_word} {instance}",
            [
                Series(m, c.queries, c.mean, c.low, c.high)
                for m in summary.methods
                for c in [summary.curves[instance, m]]
            ],
            summary.best_known[instance],
            limits(summary, instance),
        )
        for instance in e.instances
    ]
    tables = _strategic_tables(summary) if e.name == "strategic" else [_pricing_table(summary)]
    strips = [strip for metric in e.metrics if (strip := _strip(summary, metric.column, metric.title)).rows]
    return Section(
        e.name,
        e.title,
        INTRO[e.name]
        + f" Budget: {e.budget:,} queries a run. Lines are means over {len(e.held_out)} held-out runs, "
        "bands one standard deviation.",
        panels,
        summary.objective.title.lower(),
        e.budget,
        tables,
        strips,
        "Our mean minus the paper’s, in the paper’s standard deviations; a dot is a split, the shaded band "
        "is the paper’s own spread. The paper’s random splits are unknown, so agreement means the band, not "
        "the digits.",
    )


def _columns(first: str, summary: Summary) -> list[str]:
    return [first, *(title(method) for method in summary.methods)]


def _row(label: str, cells: Sequence[Cell], known: float | None) -> Row:
    """A metric's cells; under each the paper's figure, the distance to it, and the gap, where they exist."""
    compared, gap = any(cell.paper for cell in cells), known is not None
    under = ["in the paper", "our distance to it"] * compared
    under += [f"gap to best known {number(known)}"] * gap
    items: list[Item] = []
    for cell in cells:
        lines: list[tuple[str, str]] = []
        if compared:
            far = "–" if cell.offset is None else f"{number_short(cell.offset)} sd"
            lines += [(figure_text(cell.paper), ""), (far, "out" if cell.within is False else "")]
        if gap:
            lines.append((number(cell.gap, sign=True), ""))
        items.append(Item(cell_text(cell), cell.best, tuple(lines)))
    return label, under, items


def _strategic_tables(summary: Summary) -> list[HtmlTable]:
    out: list[HtmlTable] = []
    for instance in summary.experiment.instances:
        known = summary.best_known[instance]
        rows = [
            _row(metric.title, summary.row(instance, metric), known if metric is summary.objective else None)
            for metric in summary.experiment.metrics
        ]
        out.append(HtmlTable(f"Split {instance}", _columns("Metric", summary), [*rows, _tried(summary)]))
    return out


def _pricing_table(summary: Summary) -> HtmlTable:
    rows: list[Row] = [
        _row(instance, summary.row(instance, summary.objective), summary.best_known[instance])
        for instance in summary.experiment.instances
    ]
    for week, figures in published.PRICING.items():
        lowest = min(f.mean for f in figures.values())
        cells = [figures.get(method) for method in summary.methods]
        items = [Item(figure_text(f), f is not None and f.mean == lowest) for f in cells]
        rows.append((week, ["the paper’s, another week"], items))
    rows.append(_tried(summary))
    return HtmlTable("Final objective (negative profit)", _columns("Week", summary), rows, OTHER_WEEKS)


def _tried(summary: Summary) -> Row:
    return ("Configurations tried", [], [Item(str(summary.configurations(m))) for m in summary.methods])


def _strip(summary: Summary, column: str, heading: str) -> Strip:
    rows: list[tuple[str, str, list[tuple[str, float]]]] = []
    for k, method in enumerate(summary.methods):
        cells = [(i, summary.cells[i, column, method]) for i in summary.experiment.instances]
        dots = [(f"split {i}", cell.offset) for i, cell in cells if cell.offset is not None]
        if dots:
            rows.append((title(method), colour(method, k), dots))
    return Strip(heading, rows)


def _selections(made: "Reproduction") -> HtmlTable:
    shown = ("radius", "step", "block", "batch", "directions")
    rows: list[Row] = []
    for summary in made.summaries:
        for choice in summary.selected:
            values = [choice.parameters.get(name) for name in shown]
            items = [Item("–" if v is None else f"{v:g}") for v in values]
            mean = choice.development_mean
            items.append(Item("not tuned" if np.isnan(mean) else number(mean)))
            tried = f"{choice.configurations}"
            items.append(Item(tried + (f" ({choice.infeasible} too dear)" if choice.infeasible else "")))
            word = summary.experiment.instance_word.lower()
            rows.append(
                (title(choice.method), [f"{summary.experiment.name}, {word} {choice.instance}"], items)
            )
    heads = [
        "Method",
        "radius δ, μ",
        "step η",
        "block T",
        "batch m",
        "directions N",
        "development mean",
        "tried",
    ]
    return HtmlTable("Smallest mean objective on the development runs", heads, rows)


def _seeds(seeds: range) -> str:
    return f"{seeds[0]} to {seeds[-1]}"


def _experiment_fact(e: Experiment) -> str:
    grids = ", ".join(f"{title(made.label)} {len(made)}" for made in e.grids)
    return (
        f"{len(e.instances)} instances; configurations: {grids}; seeds {_seeds(e.development)} for "
        f"development, {_seeds(e.held_out)} held out"
    )


def _facts(made: "Reproduction") -> list[tuple[str, str]]:
    sweeps: list[Any] = [s for parts in made.manifest["experiments"].values() for s in parts.values()]
    queries = sum(s["queries"] for s in sweeps)
    facts = [("Command", made.manifest["command"]), ("Protocol", made.manifest["protocol"])]
    for summary in made.summaries:
        e = summary.experiment
        facts.append((e.title, _experiment_fact(e)))
        sums: dict[str, str] = next(iter(made.manifest["experiments"][e.name].values()))["data_checksums"]
        listed = ", ".join(f"{instance} {value}" for instance, value in sums.items())
        facts.append((f"Data, {e.name}", f"{e.provenance.source}; checksums: {listed}"))
    first = sweeps[0]
    facts += [
        ("Queries", f"{queries:,}"),
        ("Duration", f"{made.manifest['duration_s']:,} s, of which finished parts found: {_reused(sweeps)}"),
        ("Machine", f"{platform.system()} {platform.machine()}; devices: {', '.join(first['devices'])}"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in first["versions"].items())),
    ]
    return facts


def _reused(sweeps: list[Any]) -> str:
    return f"{sum(s['parts_found_finished'] for s in sweeps)} of {sum(s['parts'] for s in sweeps)}"


def _notes(made: "Reproduction") -> list[str]:
    notes = [
        "Bold: the best mean as printed. Standard deviations are of the runs (ddof 1); a difference smaller "
        "than them may be chance.",
        "A run that diverges counts as infinitely bad. Development and held-out runs share no random "
        "numbers.",
    ]
    for summary in made.summaries:
        dear = {s.method: s.infeasible for s in summary.selected if s.infeasible}
        if dear:
            listed = ", ".join(f"{count} of {title(method)}" for method, count in dear.items())
            notes.append(
                f"{summary.experiment.title}: some configurations cost more for one step than the whole "
                f"budget and count as infinitely bad: {listed}."
            )
    return notes
