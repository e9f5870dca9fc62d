"""One table in four formats: the same numbers in each, and text that stays text."""

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftopt.report import escaping, formats
from driftopt.report.table import Cell, Row, Table, cells

ROWS = [
    Row(
        "Train loss",
        [Cell("0.6000 ± 0.0100", best=True), Cell("diverged (2 of 5)")],
        [Row("our distance to it", [Cell("−1.20 sd, better", mark="better"), Cell("–")])],
    ),
    Row("configurations tried", cells(["45", "180"])),
]
TABLE = Table("Split 101", ["Metric", "ZO-CO", "mine"], ROWS, words=(0,))
WRITERS = (formats.markdown, formats.latex, formats.html, formats.plain)


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_format_says_the_same(write):
    text = html.unescape(write(TABLE)).replace(r"\pm", "±").replace("$-$", "−")
    for row in TABLE.rows:
        for line in row.lines():
            assert line.label in text
            for cell in line.cells:
                assert cell.text.replace("–", "") in text


def test_markdown_and_latex_mark_the_best():
    assert "| Train loss | **0.6000 ± 0.0100** | diverged (2 of 5) |" in formats.markdown(TABLE)
    assert "| --- | ---: | ---: |" in formats.markdown(TABLE)
    assert r"Train loss & $\mathbf{0.6000 \pm 0.0100}$ & diverged (2 of 5) \\" in formats.latex(TABLE)
    assert r"configurations tried & $45$ & $180$ \\" in formats.latex(TABLE)
    float_ = formats.latex_float([TABLE, TABLE], caption="50% of it", label="tab:x")
    assert float_.count(r"\begin{tabular}{lcc}") == 2
    assert r"\caption{50\% of it}" in float_


def test_html_puts_smaller_rows_into_the_cells_they_belong_to():
    text = formats.html(TABLE)
    assert '<td class="best"><span class="value">0.6000 ± 0.0100</span><small class="better">−1.20 sd' in text
    assert text.count("<tr>") == 3  # heads, two rows


def test_plain_text_lines_up():
    first, _, *others = formats.plain(TABLE).splitlines()
    end = first.index("ZO-CO") + len("ZO-CO")
    assert others[0][:end].endswith("0.6000 ± 0.0100 ★")
    assert others[-1][:end].endswith("45")


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=200, deadline=None)
@given(NAMES)
def test_a_name_never_changes_the_shape_of_a_table(name):
    table = Table(name, [name, name], [Row(name, [Cell(name, best=True)])])
    lines = formats.markdown(table).splitlines()
    assert len(lines) == 3
    # Pipes that are not escaped: a backslash before a pipe is itself escaped or escapes it.
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3 for line in lines)
    assert len(formats.plain(table).splitlines()) == 3
    inside = formats.latex(table).split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert len(re.findall(r"(?<!\\)&", inside)) == 1
    page = formats.html(table)
    assert (
        page.count("<")
        == page.count(">")
        == formats.html(Table("", ["", ""], [Row("", [Cell("", best=True)])])).count("<")
    )


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=20))
def test_foreign_text_becomes_harmless(text):
    shown = escaping.one_line(text)
    assert shown.isprintable() or not any(sign in shown for sign in "\n\r\t\x1b\x00\x07\x9b\u202e")
    shown.encode()  # no lone surrogates
    assert not escaping.spreadsheet(text).lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    assert not re.search(r"(?<!\\)\$", escaping.plot(text))
    assert not re.search(
        r"(?<!\\)[&%#_{}](?<!\{\})", re.sub(r"\\text\w+\{\}|\$[^$]*\$", "", escaping.latex(text))
    )


def test_ordinary_names_stay_as_they_are():
    for name in ("zo-o2nc-2pt", "Week 2022-08", "price_of_tea", "naïve", "価格", "👩‍🔬"):
        assert escaping.markdown(name) == escaping.one_line(name) == escaping.plot(name) == name
        assert escaping.spreadsheet(name) == name
