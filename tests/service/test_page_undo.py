"""Undone on the service's page: everything is as it was, and what is said of it is true."""


def test_undoing_a_take_back_brings_back_what_was_told_beside_the_value(window, begin):
    study = begin(covariates=["rain"], limits={"complaints": {"max": 5.0}}, relative_to_control=True)
    id = study.ask().id
    study.tell(id, 2.5, sem=0.4, covariates={"rain": 3.0}, metrics={"complaints": 1.0}, n=50, control=2.0)
    before = study.trial(id)
    window.open(study.name)
    window.press("Take back", f"#trials tr[data-trial='{id}']")
    window.press("Take it back", "dialog")
    window.closed()
    assert study.trial(id).state == "voided"
    window.press("Undo", "#said")
    window.says("has the value 2.5 again", "document.getElementById('said')")
    after = study.trial(id)
    told = ("state", "value", "sem", "covariates", "metrics", "n", "control")
    assert [getattr(after, name) for name in told] == [getattr(before, name) for name in told]


def test_undoing_a_correction_takes_away_what_came_with_it(window, begin):
    study = begin(relative_to_control=False)
    id = study.ask().id
    study.tell(id, 2.5)
    window.open(study.name)
    window.press("Correct", f"#trials tr[data-trial='{id}']")
    window.fill("What was truly measured", "2.6")
    window.fill("Its standard error, if known", "20")
    window.press("Correct", "dialog")
    window.closed()
    assert (study.trial(id).value, study.trial(id).sem) == (2.6, 20.0)
    window.press("Undo", "#said")
    window.says("was undone", "document.getElementById('said')")
    assert (study.trial(id).value, study.trial(id).sem, study.trial(id).n) == (2.5, None, None)


def test_a_correction_shows_the_standard_error_and_keeps_it_unless_another_is_given(window, begin):
    study = begin()
    id = study.ask().id
    study.tell(id, 25.0, sem=0.4)
    window.open(study.name)
    for value, typed, error in (("2.5", None, 0.4), ("2.6", "0.3", 0.3), ("2.7", "", 0.3)):
        window.press("Correct", f"#trials tr[data-trial='{id}']")
        shown = window.until("document.querySelector('dialog input[name=sem]').value")
        assert float(shown) == study.trial(id).sem
        window.fill("What was truly measured", value)
        if typed is not None:
            window.fill("Its standard error, if known", typed)
        window.press("Correct", "dialog")
        window.closed()
        window.says(f"now has the value {value}", "document.getElementById('said')")
        assert (study.trial(id).value, study.trial(id).sem) == (float(value), error)
        window.until(
            "document.querySelector(given[0]).innerText.includes(given[1])",
            f"#trials tr[data-trial='{id}']",
            value,
        )


def test_an_answer_that_closed_its_iteration_is_not_said_to_be_asked_again(window, begin):
    study = begin()
    study.tell(study.ask().id, 2.0)
    window.open(study.name)
    id, _ = window.ask()
    window.tell(id, 2.5)
    assert study.summary().iterations == 1  # that answer closed it
    window.press("Undo", "#said")
    window.says("while its iteration is open; otherwise", "document.getElementById('said')")
    assert study.trial(id).state == "voided"
    trial = study.ask()
    assert (trial.iteration, trial.point) != (study.trial(id).iteration, study.trial(id).point)
