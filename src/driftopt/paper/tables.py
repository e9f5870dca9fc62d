"""The paper's tables: mean ± deviation, the best in bold, the paper's figure and the gap.

The same results give the same bytes, whenever and however fast they were computed.
"""

import csv
import io
from collections.abc import Sequence

import numpy as np

from driftopt.paper.summary import PaperSummary, Result, title
from driftopt.report import formats
from driftopt.report.escaping import markdown as plain_markdown
from driftopt.report.escaping import spreadsheet
from driftopt.report.numbers import NOTHING, fixed, with_spread
from driftopt.report.table import Cell, Row, Table, cells

TRIED = "configurations tried"


def result_text(result: Result) -> str:
    """mean ± deviation, or the number of diverged runs."""
    if result.diverged:
        return f"diverged ({result.diverged} of {result.runs})"
    return with_spread(result.mean, result.deviation)


def note(summary: PaperSummary) -> str:
    """The size of the run and the source of the data, for the line above the tables."""
    experiment = summary.experiment
    return (
        f"{experiment.size}. Data: {experiment.provenance.source}. Budget {experiment.budget:,} queries. "
        "Cells: mean ± standard deviation over the held-out runs."
    )


def tables(summary: PaperSummary) -> list[Table]:
    """A table for each instance with a row a metric, or one table with a row an instance."""
    experiment = summary.experiment
    heads = [title(method) for method in summary.methods]
    if experiment.table:
        rows = [
            _row(instance, summary.row(instance, summary.objective), summary.best_known[instance])
            for instance in experiment.instances
        ]
        for instance, metrics in summary.elsewhere.items():
            figures = metrics[summary.objective.column]
            lowest = min(figure.mean for figure in figures.values())
            each = [figures.get(method) for method in summary.methods]
            shown = [Cell(NOTHING) if f is None else Cell(with_spread(*f), f.mean == lowest) for f in each]
            word = experiment.instance_word.lower()
            rows.append(Row(f"{instance} (the paper’s, another {word})", shown))
        rows.append(_tried(summary))
        about = experiment.table_note if summary.elsewhere else ""
        return [Table(experiment.table, [experiment.instance_word, *heads], rows, about)]
    each_instance: list[Table] = []
    for instance in experiment.instances:
        rows = [
            _row(metric.title, summary.row(instance, metric), summary.best_known[instance])
            for metric in experiment.metrics
        ]
        caption = f"{experiment.instance_word} {instance}"
        each_instance.append(Table(caption, ["Metric", *heads], [*rows, _tried(summary)]))
    return each_instance


def _row(label: str, results: Sequence[Result], known: float) -> Row:
    """A row for one metric, and under it the paper's figures, the distance to them and the gap."""
    under: list[Row] = []
    if any(result.paper for result in results):
        figures = [NOTHING if r.paper is None else with_spread(*r.paper) for r in results]
        under.append(Row("in the paper", cells(figures)))
        distances: list[Cell] = []  # in standard errors
        for result in results:
            if result.offset is None:
                distances.append(Cell(NOTHING))
                continue
            words = f"{fixed(result.offset, 2, sign=True)} se"
            distances.append(Cell(f"{words}, {result.mark}" if result.mark else words, mark=result.mark))
        under.append(Row("our distance to it", distances))
    if all(result.gap is not None for result in results):
        gaps = [fixed(result.gap, sign=True) for result in results]
        under.append(Row(f"gap to best known {fixed(known)}", cells(gaps)))
    return Row(label, [Cell(result_text(result), result.best) for result in results], under)


def _tried(summary: PaperSummary) -> Row:
    """The number of configurations of each method."""
    counts = [str(summary.configurations(method)) for method in summary.methods]
    return Row(TRIED, cells(counts))


def markdown(summary: PaperSummary) -> str:
    """All tables of the experiment as one Markdown document."""
    parts = [f"# {summary.experiment.title}", "", plain_markdown(note(summary)), ""]
    for table in tables(summary):
        parts += [f"## {plain_markdown(table.caption)}", "", formats.markdown(table)]
    return "\n".join(parts)


def latex(summary: PaperSummary, *, plain: bool = False) -> str:
    """All tables of the experiment in LaTeX (booktabs, graphicx).

    Args:
        summary: the results.
        plain: leave out all but our means and deviations, as a paper's own table has them.
    """
    experiment, shown = summary.experiment, tables(summary)
    if plain:
        rows = [[Row(row.label, row.cells) for row in table.rows if row.label != TRIED] for table in shown]
        shown = [Table(one.caption, one.heads, few) for one, few in zip(shown, rows, strict=True)]
    caption = f"{experiment.title}. {note(summary)}"
    return formats.latex_float(shown, caption=caption, label=f"tab:{experiment.name}")


def selections(summaries: Sequence[PaperSummary]) -> Table:
    """The selected configurations, a row for each method and instance."""
    shown = ("radius", "step", "block", "batch", "directions")
    rows: list[Row] = []
    for summary in summaries:
        experiment = summary.experiment
        for choice in summary.selected:
            values = [choice.parameters.get(name) for name in shown]
            texts = [experiment.name, f"{experiment.instance_word.lower()} {choice.instance}"]
            texts += [NOTHING if v is None else f"{v:g}" for v in values]
            mean = choice.development_mean
            texts.append("not tuned" if np.isnan(mean) else fixed(mean))
            dear = f" ({choice.infeasible} too dear)" if choice.infeasible else ""
            texts.append(f"{choice.configurations}{dear}")
            rows.append(Row(title(choice.method), cells(texts)))
    numbers = ("radius δ, μ", "step η", "block T", "batch m", "directions N", "development mean", "tried")
    heads = ["Method", "Experiment", "Instance", *numbers]
    return Table("Smallest mean objective on the development runs", heads, rows, words=(0, 1, 2))


def selections_csv(summaries: Sequence[PaperSummary]) -> str:
    """The selected configurations with all digits, as CSV."""
    rows = [(s.experiment.name, choice) for s in summaries for choice in s.selected]
    names = list(dict.fromkeys(name for _, choice in rows for name in choice.parameters))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head = ["experiment", "instance", "method", *names]
    writer.writerow([*head, "development_mean", "configurations", "infeasible"])
    for experiment, choice in rows:
        numbers = [choice.parameters.get(name, "") for name in names]
        mean = "" if np.isnan(choice.development_mean) else f"{choice.development_mean:.6f}"
        labels = [spreadsheet(word) for word in (experiment, choice.instance, choice.method)]
        writer.writerow([*labels, *numbers, mean, choice.configurations, choice.infeasible])
    return buffer.getvalue()
