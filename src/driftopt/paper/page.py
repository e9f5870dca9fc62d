"""report.html: the reproduction as one page that a reader can send to a colleague."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from driftopt.paper.summary import PaperSummary, title
from driftopt.paper.tables import selections, tables
from driftopt.report.curves import Style, assign
from driftopt.report.numbers import counted
from driftopt.report.page import Badge, Finding, Page, Section, Strip
from driftopt.sweep.progress import reused_parts

Findings = Mapping[str, Sequence[Finding]]  # by the experiment's name


def page(summaries: Sequence[PaperSummary], findings: Findings, manifest: Mapping[str, Any]) -> Page:
    """The page of a finished reproduction."""
    methods = list(dict.fromkeys(method for summary in summaries for method in summary.methods))
    looks = assign(methods)
    experiments = [summary.experiment for summary in summaries]
    sizes = [Badge(e.kind, warns=e.quick or bool(e.changes)) for e in experiments]
    sources = [Badge(f"data: {e.provenance.source}", warns=not e.real) for e in experiments]
    return Page(
        title="ZO-O2NC under decision-dependent data: the experiments, run again",
        subtitle=subtitle(methods, with_paper=any(summary.with_paper for summary in summaries)),
        badges=list(dict.fromkeys([*sizes, *sources])),
        findings=[
            replace(finding, group=summary.experiment.title if len(summaries) > 1 else "")
            for summary in summaries
            for finding in findings[summary.experiment.name]
        ],
        sections=[_section(summary, looks) for summary in summaries],
        methods={method: (title(method), looks[method]) for method in methods},
        facts=_facts(summaries, manifest),
        notes=_notes(summaries),
        selections=selections(summaries),
    )


def subtitle(methods: Sequence[str], with_paper: bool) -> str:
    """A sentence about the methods that were run."""
    tuned = [method for method in methods if method != "auto"]
    words = "One zeroth-order method that needs no tuning, judged on held-out runs"
    if tuned:
        words = counted(len(tuned), "zeroth-order method").capitalize()
        words += ", tuned on development runs and judged on held-out runs"
        words += ", and one that needs no tuning" if len(tuned) < len(methods) else ""
    return f"{words}, with the figures that the paper reports." if with_paper else f"{words}."


def _section(summary: PaperSummary, looks: Mapping[str, Style]) -> Section:
    """The curves, tables and strips of one experiment."""
    e, word = summary.experiment, summary.experiment.instance_word.lower()
    strips: list[Strip] = []
    for metric in e.metrics:
        rows: list[tuple[str, Style, list[tuple[str, float]]]] = []
        for method in summary.methods:
            results = [(i, summary.results[i, metric.column, method]) for i in e.instances]
            dots = [(f"{word} {i}", result.offset) for i, result in results if result.offset is not None]
            if dots:
                rows.append((title(method), looks[method], dots))
        if rows:
            better = "right" if metric.larger_is_better else "left"
            strips.append(Strip(f"{metric.title} (to the {better} is better)", rows))
    return Section(
        e.name,
        e.title,
        f"{e.intro} Budget: {e.budget:,} queries a run. Lines are means over "
        f"{counted(len(e.held_out), 'held-out run')}, bands one standard deviation.",
        summary.panels(),
        summary.quantity,
        e.budget,
        tables(summary),
        strips,
        f"Our mean minus the paper’s, in standard errors of the difference; a dot is a {word}, and the "
        "shaded band is three of them wide on either side. The paper’s random splits are unknown, so "
        "agreement means the band, not the digits. Naive rounding: people who move land exactly on the "
        "boundary, where a plain implementation judges them by the rounding of their score; the exact "
        "metric counts them as accepted.",
    )


def _facts(summaries: Sequence[PaperSummary], manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values for the list of what was run."""
    sweeps: list[Any] = [s for parts in manifest["experiments"].values() for s in parts.values()]
    facts = [("Command", str(manifest["command"])), ("Protocol", str(manifest["protocol"]))]
    for summary in summaries:
        e = summary.experiment
        grids = ", ".join(f"{title(grid.label)} {len(grid)}" for grid in e.grids)
        development, held_out = (f"{seeds[0]} to {seeds[-1]}" for seeds in (e.development, e.held_out))
        facts.append(
            (
                e.title,
                f"{e.size}; {counted(len(e.instances), 'instance')}; configurations: {grids}; "
                f"seeds {development} for development, {held_out} held out",
            )
        )
        sums: dict[str, str] = next(iter(manifest["experiments"][e.name].values()))["data_checksums"]
        listed = ", ".join(f"{instance} {value}" for instance, value in sums.items())
        facts.append((f"Data, {e.name}", f"{e.provenance.source}; checksums: {listed}"))
    first = sweeps[0]
    return [
        *facts,
        ("Queries", f"{sum(s['queries'] for s in sweeps):,}"),
        ("Duration", f"{manifest['duration_s']:,} s"),
        ("Parts", reused_parts(sweeps)),
        ("Machine", f"{platform.system()} {platform.machine()}; devices: {', '.join(first['devices'])}"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in first["versions"].items())),
    ]


def _notes(summaries: Sequence[PaperSummary]) -> list[str]:
    """Sentences that explain the page."""
    notes = [
        "Bold: the best mean as printed. Standard deviations are of the runs (ddof 1); a smaller difference "
        "may be chance.",
        "Findings: Welch’s tests at the 5 % level decide yes and no (no, for a claim with several parts, "
        "after Holm’s correction); everything else is undecided. Whether a mean lies within a spread needs "
        "no test.",
        "A run that diverges counts as infinitely bad. Development and held-out runs share no random "
        "numbers.",
    ]
    for summary in summaries:
        dear = {s.method: s.infeasible for s in summary.selected if s.infeasible}
        if dear:
            listed = ", ".join(f"{count} of {title(method)}" for method, count in dear.items())
            notes.append(
                f"{summary.experiment.title}: some configurations cost more for one step than the whole "
                f"budget and count as infinitely bad: {listed}."
            )
    return notes
