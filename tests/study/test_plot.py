"""The picture of a study: what is drawn, not how it looks."""

import pytest

from driftopt.study import Study
from driftopt.study.plot import draw
from support.study_worlds import PLAIN, bowl

DAY = 86400.0


class Clock:
    now = 1_767_571_200.0  # 2026-01-05

    def __call__(self):
        return self.now


def lived(**how):
    """A study with a failure, a correction and an answer that is held."""
    clock = Clock()
    study = Study.create(
        "sqlite://", "a", budget=60, control_every=4, clock=clock, **how | {"outliers": True}
    )
    for k in range(30):
        trial = study.ask()
        clock.now += 7 * DAY
        if k == 5:
            study.fail(trial.id, "till down")
        else:
            study.tell(trial.id, 1e6 if k == 26 else bowl(trial))
        if k == 8:
            study.correct(trial.id, bowl(trial) + 1)
    return study


def drawn(study):
    figure = draw(study.summary(), study.course())
    figure.canvas.draw()
    return figure


def test_the_picture_has_dates_control_and_a_panel_a_coordinate():
    study = lived(names=["tea", "זית $שמן"], bounds=[(0, 2), (-9e9, None)], **PLAIN)
    top, *panels = drawn(study).axes
    assert len(panels) == 2
    labels = [text.get_text() for text in top.get_legend().get_texts()]
    for words in ("at the start", "corrected or voided", "held", "failed or expired", "below: bound"):
        assert words in labels
    assert "2026" in "".join(tick.get_text() for tick in top.get_xticklabels())
    assert top.get_ylim()[1] < 1e5  # the answer that is held does not flatten the others
    recommended = study.recommend().x
    for i, panel in enumerate(panels):
        levels = [line.get_ydata()[0] for line in panel.lines[1:]]
        assert levels[:2] == [study.spec.x0[i], pytest.approx(recommended[i])]
        assert levels[2:] == ([0.0, 2.0] if i == 0 else [])  # one far away is not drawn, but written
    assert [panel.get_title().split("(")[1] for panel in panels] == ["0.00 to 2.00)", "from −9e+09)"]
