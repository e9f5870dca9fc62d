"""A study as one HTML file: the facts are in it, names are not markup, nothing is fetched."""

import re

import pytest

from driftopt import packages
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
                  "1 held", "Now: accept the result of trial 16", "2025-12-29",
                  'src="data:image/png;base64,'):  # fmt: skip
        assert words in page, words
    assert not any(wrong in page for wrong in ("<b>tea", "<i>weekly", "<script>ana"))
    assert page.count("data:image/png;base64,") == 2  # a light picture and a dark one
    assert 'media="(prefers-color-scheme: dark)" srcset="data:image/png' in page
    assert "What was run" not in page
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    with pytest.raises(ValueError, match=r"must end in \.html"):
        study.write_page(tmp_path / "weeks.pdf")


def test_a_missing_package_is_named_before_anything_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "missing_report_packages", lambda: ["jinja2"])
    with pytest.raises(ValueError, match=r"the page needs jinja2 .*driftopt\[report\]"):
        Study.create("sqlite://", "weekly", budget=60, **PLAIN).write_page(tmp_path / "a.html")
