"""Small sweeps that can be cut into many parts."""

import pytest

from driftopt.sweep import units


@pytest.fixture
def small_units(monkeypatch):
    """A unit is one run."""
    for name in ("WIDE", "NARROW", "QUERIES"):
        monkeypatch.setattr(units, name, 1)
