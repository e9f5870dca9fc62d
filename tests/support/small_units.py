"""Units of single runs, so that a small sweep, too, can be cut into many parts."""

import pytest

from driftopt.sweep import units


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit is one run."""
    for name in ("WIDE", "NARROW", "QUERIES"):
        monkeypatch.setattr(units, name, 1)
