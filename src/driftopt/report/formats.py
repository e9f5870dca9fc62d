"""One table in four formats: Markdown, LaTeX, HTML and plain text."""

import re
from collections.abc import Sequence
from html import escape

from driftopt.report import escaping
from driftopt.report.numbers import MINUS
from driftopt.report.table import Row, Table

_NUMBER = re.compile(rf"[+{MINUS}]?[\d.,]+( ± [\d.,]+)?")


def markdown(table: Table) -> str:
    """A pipe table."""
    ruler = ["---" if k in table.words else "---:" for k in range(len(table.heads))]
    lines = [_pipe(map(escaping.markdown, table.heads)), _pipe(ruler)]
    for row in _lines(table):
        texts = [escaping.markdown(cell.text) for cell in row.cells]
        bold = [f"**{text}**" if cell.best else text for text, cell in zip(texts, row.cells, strict=True)]
        lines.append(_pipe([escaping.markdown(row.label), *bold]))
    return "\n".join(lines) + "\n"


def _pipe(texts: "Sequence[str] | map[str]") -> str:
    return "| " + " | ".join(texts) + " |"


def latex(table: Table) -> str:
    """A tabular with booktabs' rules."""
    columns = "".join("l" if k in table.words else "c" for k in range(len(table.heads)))
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(escaping.latex, table.heads)) + r" \\",
        r"\midrule",
    ]
    for row in _lines(table):
        texts = [escaping.latex(row.label)]
        for cell in row.cells:
            if _NUMBER.fullmatch(cell.text):
                inside = cell.text.replace("±", r"\pm").replace(MINUS, "-")
                texts.append(rf"$\mathbf{{{inside}}}$" if cell.best else f"${inside}$")
            else:
                shown = escaping.latex(cell.text)
                texts.append(rf"\textbf{{{shown}}}" if cell.best else shown)
        lines.append(" & ".join(texts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_float(tables: Sequence[Table], *, caption: str, label: str) -> str:
    """A table environment of the page's width with every table in it (needs booktabs and graphicx)."""
    lines = [
        r"\begin{table}[t]",
        rf"\caption{{{escaping.latex(caption)}}}",
        rf"\label{{{label}}}",
        r"\centering",
        r"\scriptsize",
        r"\setlength{\tabcolsep}{3pt}",
    ]
    for table in tables:
        lines += [rf"\textbf{{{escaping.latex(table.caption)}}}", "", r"\resizebox{\textwidth}{!}{"]
        lines += [latex(table).rstrip("\n"), "}", "", r"\vspace{0.6em}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def html(table: Table) -> str:
    """A table element; rows under another one are smaller lines in its cells."""
    heads = "".join(
        f'<th scope="col"{_attribute("words" * (k in table.words))}>{_safe(head)}</th>'
        for k, head in enumerate(table.heads)
    )
    rows: list[str] = []
    for row in table.rows:
        under = row.lines()[1:]
        labels = "".join(f"<small>{_safe(line.label)}</small>" for line in under)
        parts = [f'<tr><th scope="row">{_safe(row.label)}{labels}</th>']
        for k, cell in enumerate(row.cells):
            below = [line.cells[k] for line in under]
            small = "".join(f"<small{_attribute(one.mark)}>{_safe(one.text)}</small>" for one in below)
            kinds = ["best" * cell.best, cell.mark, "words" * (k + 1 in table.words)]
            kind = _attribute(" ".join(filter(None, kinds)))
            parts.append(f'<td{kind}><span class="value">{_safe(cell.text)}</span>{small}</td>')
        rows.append("".join([*parts, "</tr>"]))
    body = "\n".join(rows)
    return (
        f"<table>\n<caption>{_safe(table.caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n"
    )


def notebook(table: Table) -> str:
    """A table element with its note below, for a notebook; a page places notes itself."""
    return html(table) + (f'<p class="note">{_safe(table.note)}</p>\n' if table.note else "")


def _attribute(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _safe(text: str) -> str:
    return escape(escaping.one_line(text))


def plain(table: Table) -> str:
    """Columns lined up for a terminal; the best cell is followed by a star."""
    rows = [[escaping.one_line(head) for head in table.heads]]
    for row in _lines(table):
        texts = [f"{cell.text}{' ★' * cell.best}" for cell in row.cells]
        rows.append([escaping.one_line(text) for text in (row.label, *texts)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lined = [
        "  ".join(
            text.ljust(width) if k in table.words else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lined[0], "-" * max(map(len, lined)), *lined[1:]]) + "\n"


def _lines(table: Table) -> list[Row]:
    return [line for row in table.rows for line in row.lines()]
