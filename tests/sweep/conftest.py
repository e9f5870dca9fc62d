"""Small sweeps that can be cut into many parts."""

import pytest

from driftopt.sweep import tasks


@pytest.fixture
def small_tiles(monkeypatch):
    """A tile is one run."""
    for name in ("WIDE", "NARROW", "QUERIES"):
        monkeypatch.setattr(tasks, name, 1)
