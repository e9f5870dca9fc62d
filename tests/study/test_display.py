"""What a prompt and a notebook show: the facts, in words, and nothing of a name is read as markup."""

from driftopt.study import Study
from support.study_worlds import PLAIN


def test_a_password_is_not_shown():
    study = Study.create("sqlite://", "a", budget=12, **PLAIN)
    study.transport.log.database.url = study.transport.log.database.url.set(password="secret")
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
