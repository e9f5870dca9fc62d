"""A study as one HTML file: the facts are in it, names are not markup, nothing is fetched or runs."""

import re

import pytest

from driftopt.study import Study
from support.study_worlds import PLAIN, bowl


def test_the_page_holds_the_facts_and_fetches_nothing(tmp_path):
    names = ["<b>tea", "oil & gas"]
    study = Study.create(
        "sqlite://", "<i>weekly", names=names, budget=60, clock=lambda: 1.767e9, **PLAIN | {"outliers": True}
    )
    for k in range(16):
        trial = study.ask()
        if k == 3:
            study.fail(trial.id, "till <down>")
        else:
            study.tell(trial.id, 1e6 if k == 15 else bowl(trial))
    study.ask(holder="<script>ana")
    page = study.write_page(tmp_path / "weeks.html").read_text("utf-8")
    for words in ("&lt;b&gt;tea", "oil &amp; gas", "till &lt;down&gt;", "&lt;script&gt;ana", "7 days left",
                  "1 result is held", "Now: accept the result of trial 16", "2025-12-29", "1,000,000",
                  '<svg class="drawing"', 'data-trial="4"'):  # fmt: skip
        assert words in page, words
    assert not any(wrong in page for wrong in ("<b>tea", "<i>weekly", "<script"))
    assert not re.search(r'(src|href)="(?!data:|#)|url\(|@import| on\w+=', page)
    with pytest.raises(ValueError, match=r"must end in \.html"):
        study.write_page(tmp_path / "weeks.pdf")


def test_the_page_says_what_the_search_has_cost_and_gains(tmp_path):
    now = [1.767e9]
    study = Study.create(
        "sqlite://", "shop", clock=lambda: now[0], x0=[1.0, -0.5], direction="minimize", unit="<b>", rng=7
    )
    assert "Money" not in study.write_page(tmp_path / "a.html").read_text("utf-8")
    for _ in range(12):
        now[0] += 7 * 86400.0
        trial = study.ask()
        study.tell(trial.id, float(trial.x @ trial.x) + 0.1 * (trial.id % 3))
    money, page = study.summary().money, study.write_page(tmp_path / "a.html").read_text("utf-8")
    (section,) = re.findall(r'<section id="money".*?</section>', page, re.DOTALL)
    for line in (*money.balance, *money.advice):
        assert line[1:].replace("<b>", "&lt;b&gt;") in section
    assert all(month.month in section for month in money.months)
    assert len(money.months) == 3
    assert "<b>" not in section
    assert section.count('<polygon class="recommended"') == 1


def test_the_page_needs_no_more_than_the_core(tmp_path, monkeypatch):
    study = Study.create("sqlite://", "weekly", budget=60, **PLAIN)
    for name in ("jinja2", "matplotlib", "polars"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert "Nothing was asked yet" in study.write_page(tmp_path / "a.html").read_text("utf-8")


def test_every_mark_is_within_its_picture_and_as_high_as_its_value(tmp_path):
    now = [1.767e9]
    study = Study.create("sqlite://", "a", budget=60, control_every=3, clock=lambda: now[0], **PLAIN)
    for _ in range(12):
        now[0] += 86400.0
        trial = study.ask()
        study.tell(trial.id, bowl(trial))
    page = study.write_page(tmp_path / "a.html").read_text("utf-8")
    (calendar,) = re.findall(r'<section id="values".*?</section>', page, re.DOTALL)
    marks = re.findall(
        r'<svg x="([\d.]+)%" y="([\d.]+)" class="\w+" overflow="visible" data-value="([^"]+)"', calendar
    )
    assert len(marks) == 12
    across, down, values = (list(map(float, column)) for column in zip(*marks, strict=True))
    assert across == sorted(across)
    assert 0 < min(across) < max(across) < 100
    highest_first = sorted(range(12), key=lambda k: -values[k])
    assert [down[k] for k in highest_first] == sorted(down)
