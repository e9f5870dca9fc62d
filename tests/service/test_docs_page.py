"""The description of the interface in a real browser."""

from support.browser import complaints


def test_the_description_shows_every_route_without_a_complaint(window, served):
    complaints(window.driver)
    window.driver.get(f"{served[0]}/docs")
    shown = window.until("document.querySelectorAll('.opblock').length")
    assert shown > 20
    assert window.run("return document.querySelector('.btn.authorize') !== null")
    assert complaints(window.driver) == []
