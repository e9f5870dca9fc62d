"""The paper's tables as Markdown and LaTeX: mean ± deviation, best in bold, the paper's figure beside.

Nothing here depends on when or how fast a run was made: the same results give the same bytes.
"""

from collections.abc import Sequence

import numpy as np

from driftopt.paper import published
from driftopt.paper.protocol import Experiment
from driftopt.paper.summary import Cell, Summary, title

MINUS = "−"


def number(value: float | None, *, sign: bool = False) -> str:
    """Four decimals with a real minus sign."""
    if value is None:
        return "–"
    if not np.isfinite(value):
        return "∞" if value > 0 else "–"
    return f"{value:{'+' if sign else ''}.4f}".replace("-", MINUS)


def number_short(value: float) -> str:
    """One decimal with its sign.

    >>> number_short(-0.26), number_short(-0.01)
    ('−0.3', '+0.0')
    """
    return f"{round(value, 1) + 0.0:+.1f}".replace("-", "−")


def cell_text(cell: Cell) -> str:
    """mean ± deviation, or how many runs diverged."""
    if cell.diverged:
        return f"diverged ({cell.diverged} of {cell.runs})"
    return f"{number(cell.mean)} ± {number(cell.deviation)}"


def figure_text(figure: published.Figure | None) -> str:
    """The paper's cell."""
    return "–" if figure is None else f"{number(figure.mean)} ± {number(figure.deviation)}"


def note(summary: Summary) -> str:
    """What a reader must know before the numbers: size of the run, source of the data."""
    experiment = summary.experiment
    return (
        f"{size_of(experiment)}. Data: {experiment.provenance.source}. Budget {experiment.budget:,} queries. "
        "Cells: mean ± standard deviation over the held-out runs."
    )


def size_of(experiment: Experiment) -> str:
    """Full or quick, and how many runs that is."""
    size = (
        "QUICK run (fewer seeds and configurations than the paper)" if experiment.quick else "full protocol"
    )
    return f"{size}, {len(experiment.development)} development and {len(experiment.held_out)} held-out runs"


def rows(summary: Summary) -> list[tuple[str, str, list[list[str]], list[list[bool]]]]:
    """(key, caption, rows of text, which cells are best) for every table of the experiment."""
    return strategic_rows(summary) if summary.experiment.name == "strategic" else pricing_rows(summary)


def strategic_rows(summary: Summary) -> list[tuple[str, str, list[list[str]], list[list[bool]]]]:
    """One table per split: each metric, the paper's figure under it, and the gap for the objective."""
    out: list[tuple[str, str, list[list[str]], list[list[bool]]]] = []
    plain = [False] * (len(summary.methods) + 1)
    for instance in summary.experiment.instances:
        lines: list[list[str]] = []
        bold: list[list[bool]] = []
        for metric in summary.experiment.metrics:
            cells = summary.row(instance, metric)
            lines.append([metric.title, *(cell_text(cell) for cell in cells)])
            bold.append([False, *(cell.best for cell in cells)])
            if any(cell.paper for cell in cells):
                lines.append(["in the paper", *(figure_text(cell.paper) for cell in cells)])
                bold.append(plain)
            if cells[0].gap is not None:
                known = f"gap to the best known, {number(summary.best_known[instance])}"
                lines.append([known, *(number(cell.gap, sign=True) for cell in cells)])
                bold.append(plain)
        lines.append(_tried(summary))
        bold.append(plain)
        out.append((f"split_{instance}", f"Split {instance}", lines, bold))
    return out


def pricing_rows(summary: Summary) -> list[tuple[str, str, list[list[str]], list[list[bool]]]]:
    """One table: a row per week and its gap; then the paper's own weeks, named as such."""
    lines: list[list[str]] = []
    bold: list[list[bool]] = []
    plain = [False] * (len(summary.methods) + 1)
    for instance in summary.experiment.instances:
        cells = summary.row(instance, summary.objective)
        lines.append([instance, *(cell_text(cell) for cell in cells)])
        bold.append([False, *(cell.best for cell in cells)])
        known = f"gap to the best known, {number(summary.best_known[instance])}"
        lines.append([known, *(number(cell.gap, sign=True) for cell in cells)])
        bold.append(plain)
    for week, figures in published.PRICING.items():
        paper = [figures.get(method) for method in summary.methods]
        lowest = min(figure.mean for figure in figures.values())
        lines.append([f"{week} (in the paper; another week)", *(figure_text(figure) for figure in paper)])
        bold.append([False, *(figure is not None and figure.mean == lowest for figure in paper)])
    lines.append(_tried(summary))
    bold.append(plain)
    return [("pricing", "Final objective (negative profit)", lines, bold)]


def _tried(summary: Summary) -> list[str]:
    return ["configurations tried", *(str(summary.configurations(method)) for method in summary.methods)]


def markdown(summary: Summary) -> str:
    """All tables of the experiment as one Markdown document."""
    parts = [f"# {summary.experiment.title}", "", note(summary), ""]
    first = "Metric" if summary.experiment.name == "strategic" else "Week"
    header = [first, *(title(method) for method in summary.methods)]
    for _, caption, lines, bold in rows(summary):
        parts += [f"## {caption}", "", _pipe(header), _pipe(["---", *(["---:"] * len(summary.methods))])]
        for line, marks in zip(lines, bold, strict=True):
            parts.append(_pipe([f"**{c}**" if mark else c for c, mark in zip(line, marks, strict=True)]))
        parts.append("")
    return "\n".join(parts)


def latex(summary: Summary) -> str:
    """All tables of the experiment in the paper's LaTeX form (booktabs, graphicx)."""
    experiment = summary.experiment
    first = "Metric" if experiment.name == "strategic" else "Week"
    columns = "l" + "c" * len(summary.methods)
    out = [
        r"\begin{table}[t]",
        rf"\caption{{{_escape(experiment.title)}. {_escape(note(summary))}}}",
        rf"\label{{tab:{experiment.name}}}",
        r"\centering",
        r"\scriptsize",
        r"\setlength{\tabcolsep}{3pt}",
    ]
    for _, caption, lines, bold in rows(summary):
        out += [
            rf"\textbf{{{_escape(caption)}}}",
            "",
            r"\resizebox{\textwidth}{!}{",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join([first, *(_escape(title(m)) for m in summary.methods)]) + r" \\",
            r"\midrule",
        ]
        for line, marks in zip(lines, bold, strict=True):
            texts = [_escape(line[0]), *(_math(c, m) for c, m in zip(line[1:], marks[1:], strict=True))]
            out.append(" & ".join(texts) + r" \\")
        out += [r"\bottomrule", r"\end{tabular}", "}", "", r"\vspace{0.6em}"]
    out.append(r"\end{table}")
    return "\n".join(out) + "\n"


def _pipe(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    for sign, tex in (("&", r"\&"), ("%", r"\%"), ("±", r"$\pm$"), (MINUS, "$-$"), ("_", r"\_")):
        text = text.replace(sign, tex)
    return text


def _math(text: str, bold: bool) -> str:
    if not text[-1].isdigit():
        return {"–": "--", "∞": r"$\infty$"}.get(text, _escape(text))
    inside = text.replace("±", r"\pm").replace(MINUS, "-")
    return rf"$\mathbf{{{inside}}}$" if bold else f"${inside}$"
