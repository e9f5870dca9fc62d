"""A comparison's tables: scores of the methods, and tests of every pair."""

import csv
import io

import numpy as np

from driftopt.comparison.judging import Contrast, Judged, Score
from driftopt.oracle import Sight
from driftopt.report import formats
from driftopt.report.escaping import markdown as plain_markdown
from driftopt.report.escaping import spreadsheet
from driftopt.report.numbers import NOTHING, chance, significant
from driftopt.report.statistics import Interval
from driftopt.report.table import Cell, Row, Table, cells

HEADS = ("Method", "mean", "95% interval", "median", "sd", "runs", "configurations", "selected")
TEST_HEADS = (
    *("Pair", "difference of means", "95% interval"),
    *("p (Welch)", "p (Welch, Holm)", "p (ranks)", "p (ranks, Holm)"),
)
READING = (
    "Bold: the smallest mean; ≈ marks methods that are not significantly different from it, neither by "
    "Welch’s test of the means nor by the Mann–Whitney test of ranks (twice the smaller p, corrected by Holm "
    "over the comparisons with the best, 5 % level). Intervals are bootstrap intervals of the mean, and "
    "Student’s where there are fewer than 8 runs."
)
P_VALUES = ("p_welch", "p_welch_holm", "p_rank", "p_rank_holm")
OVERALL = "Over all instances"
LUCKIEST = "† Judged at the best value it has seen, its luckiest draw: it has no other recommendation."
OTHER_ORACLE = "‡ Sees more than values: it is listed below the methods that see values only."
DIVERGED = "Diverged: a value or a recommendation of the run was NaN or infinite and counts as +∞."


def span(interval: Interval) -> str:
    """[low, high]."""
    if np.isnan(interval.low):
        return NOTHING
    return f"[{significant(interval.low)}, {significant(interval.high)}]"


def scores_table(judged: Judged, instance: str) -> Table:
    """One row a method."""
    known = judged.best_known.get(instance)
    caption = instance if known is None else f"{instance} (best known value {significant(known)})"
    scores = judged.on(instance)[0]
    if len({score.sees for score in scores}) == 1:
        return Table(caption, HEADS, [_score_row(score) for score in scores], reading(judged), words=(0, 7))
    # Methods with more information come last, with a mark.
    marked = [(one, " ‡" * (one.sees != Sight.VALUES.words), _score_row(one)) for one in scores]
    rows = [
        Row(row.label + mark, [Cell(one.sees), *row.cells])
        for one, mark, row in sorted(marked, key=lambda three: three[1])
    ]
    return Table(caption, (HEADS[0], "sees", *HEADS[1:]), rows, reading(judged), words=(0, 1, 8))


def reading(judged: Judged) -> str:
    """The explanation of the scores."""
    return " ".join([READING, *_marks(judged)])


def _marks(judged: Judged) -> list[str]:
    """The explanations of this comparison's marks."""
    luckiest = [LUCKIEST] if any(score.luckiest for score in judged.scores) else []
    diverged = [DIVERGED] if any(score.diverged for score in judged.scores) else []
    return luckiest + [OTHER_ORACLE] * (len({score.sees for score in judged.scores}) > 1) + diverged


def _score_row(score: Score) -> Row:
    chosen = ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in score.parameters.items()
    )
    mean = f"diverged ({score.diverged} of {score.runs})" if score.diverged else significant(score.mean)
    mean += " ≈" * (score.tied and not score.best)
    figures = [span(score.interval), significant(score.median), significant(score.deviation)]
    facts = [*figures, str(score.runs), str(score.configurations), chosen or NOTHING]
    return Row(score.method + " †" * score.luckiest, [Cell(mean, score.best), *cells(facts)])


def p_values(contrast: Contrast) -> list[float]:
    """Welch's and the rank test's, each plain and corrected."""
    return [contrast.p, contrast.p_holm, contrast.p_rank, contrast.p_rank_holm]


def overall_table(judged: Judged) -> Table | None:
    """One row a method over all instances; None for a single instance or method."""
    if len(judged.instances) < 2 or len(judged.methods) < 2:
        return None
    standings, p = judged.standings()
    best = min(one.rank for one in standings)
    rows: list[Row] = []
    for one in standings:
        counts = cells([str(one.wins), str(one.ties), str(one.losses)])
        rows.append(Row(one.method, [Cell(f"{one.rank:.2f}", one.rank == best), *counts]))
    test = "Friedman’s test" if len(standings) > 2 else "the sign test"
    note = (
        "Wins, ties and losses are against every other method on every instance, by tests corrected over the "
        f"pairs of the instance. All methods as good: p = {chance(p)} ({test} of the means’ ranks over "
        f"{len(judged.instances)} instances)."
    )
    return Table(OVERALL, ("Method", "mean rank", "wins", "ties", "losses"), rows, note)


def tests_table(judged: Judged, instance: str) -> Table | None:
    """One row for every pair of methods; None where there is only one."""
    rows = [
        Row(
            f"{c.one} minus {c.other}",
            cells([significant(c.difference), span(c.interval), *map(chance, p_values(c))]),
        )
        for c in judged.on(instance)[1]
    ]
    return Table(f"{instance}: pairs", TEST_HEADS, rows) if rows else None


def tables(judged: Judged) -> list[Table]:
    """Scores and tests of each instance, in order."""
    both = [(scores_table(judged, i), tests_table(judged, i)) for i in judged.instances]
    each = [overall_table(judged), *(table for pair in both for table in pair)]
    return [table for table in each if table is not None]


def markdown(judged: Judged) -> str:
    """Scores and tests as Markdown."""
    parts = [
        "# Comparison",
        "",
        f"Budget {judged.budget:,} queries a run. {plain_markdown(reading(judged))}",
        "",
    ]
    for table in tables(judged):
        parts += [f"## {plain_markdown(table.caption)}", "", formats.markdown(table)]
        parts += [plain_markdown(table.note), ""] if table.caption == OVERALL else []
    return "\n".join(parts)


def latex(judged: Judged) -> str:
    """One table in a paper's shape: a row an instance, a column a method, mean ± standard deviation."""
    rows: list[Row] = []
    for instance in judged.instances:
        each: list[Cell] = []
        for score in judged.on(instance)[0]:
            text = f"{significant(score.mean, 4)} ± {significant(score.deviation, 2)}"
            text = f"diverged ({score.diverged} of {score.runs})" if score.diverged else text
            each.append(Cell(text + " ≈" * (score.tied and not score.best), score.best))
        rows.append(Row(instance, each))
    caption = f"Mean ± standard deviation of the final objective, {judged.budget:,} queries a run. "
    table = Table("Final objective", ("Instance", *judged.methods), rows)
    return formats.latex_float([table], caption=caption + reading(judged), label="tab:comparison")


def brief(judged: Judged) -> str:
    """The scores alone, lined up for a terminal."""
    parts = [f"Comparison: {judged.budget:,} queries a run"]
    for instance in judged.instances:
        table = scores_table(judged, instance)
        parts += ["", formats.plain(Table("", table.heads, table.rows, words=table.words)).rstrip("\n")]
        parts.insert(-1, table.caption)
    signs = "★ the smallest mean; ≈ not significantly different; print() shows the tests"
    return "\n".join([*parts, signs, *_marks(judged)])


def html(judged: Judged) -> str:
    """The scores alone, for a notebook."""
    shown = [formats.html(scores_table(judged, instance)) for instance in judged.instances]
    return f"<div>{''.join(shown)}<p><small>{reading(judged)}</small></p></div>"


def tests_csv(judged: Judged) -> str:
    """Every contrast with all digits."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["instance", "one", "other", "difference", "low", "high", *P_VALUES])
    for c in judged.contrasts:
        names = [spreadsheet(name) for name in (c.instance, c.one, c.other)]
        writer.writerow([*names, c.difference, *c.interval, *p_values(c)])
    return buffer.getvalue()
