"""What a prompt and a notebook show: the facts, in words, and nothing of a name is read as markup."""

import numpy as np

from driftopt.study import Study, words
from support.study_worlds import PLAIN, bowl, drive


def test_a_prompt_shows_the_facts(tmp_path):
    study = Study.create(tmp_path / "a.db", "weekly", names=["tea", "oil"], budget=12, reserve=4, **PLAIN)
    assert repr(study).startswith("<Study 'weekly' in sqlite:///")
    assert "zo-o2nc-2pt, minimize, 2 coordinates, 12 deployments" in repr(study)
    trial = study.ask()
    assert repr(trial).startswith("<Trial 1, method, pending: tea ")
    study.tell(trial.id, bowl(trial))
    drive(study)
    assert "8 of 12 deployments (8 complete), 4 iterations complete" in repr(study.summary())
    assert "improvement over the start is unknown" in repr(study.recommend())
    drive(study, purpose="confirm")
    assert "improvement" in repr(study.recommend())
    assert "(standard error)" in repr(study.recommend())


def test_a_long_decision_is_folded():
    study = Study.create("sqlite://", "a", x0=np.arange(30.0), budget=12, radius=1.0, rng=0)
    assert "x5" in repr(study.ask())
    assert "and 24 more" in repr(study.ask())


def test_a_password_is_not_shown():
    study = Study.create("sqlite://", "a", budget=12, **PLAIN)
    study._log.database.url = study._log.database.url.set(password="secret")
    assert "secret" not in repr(study)


def test_a_notebook_shows_tables_and_escapes_names():
    names = ["<b>tea", "oil & gas"]
    study = Study.create("sqlite://", "<i>weekly", names=names, budget=12, **PLAIN)
    trial = study.ask(holder="<script>")
    for shown in (study, study.summary(), trial, study.recommend()):
        html = shown._repr_html_()
        assert "<table>" in html
        assert not any(wrong in html for wrong in ("<b>", "<i>", "<script>"))
    assert "&lt;b&gt;tea" in trial._repr_html_()


def test_a_recommendation_is_typed_with_the_digits_that_matter():
    settings = {"x0": [2.2, -1000.0], "budget": 60, "radius": [0.3, 30.0]}
    spec = Study.create("sqlite://", "a", grid=[0.05, None], **settings).spec
    assert words.as_typed(spec, [2.35, -1012.34567]) == ["2.35", "-1012"]
