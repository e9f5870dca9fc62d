"""A picture is written whole or not at all, wherever it is asked for."""

import errno
import os

import numpy as np
import pytest

from driftopt import methods, problems, simulate
from driftopt.cli import demo_runs
from driftopt.runtime.files import WriteError

SCORE = demo_runs.DemoScore("auto", 1.0, None, 1, np.ones(2), 20, np.array([10, 20]), np.ones((2, 2)))


@pytest.fixture(scope="module")
def trace():
    return simulate(methods.get("zo-sph", radius=0.5, step=0.01), problems.kink(2), budget=20)


@pytest.mark.parametrize("draw", ["trace", "demo"])
def test_a_full_disk_leaves_the_old_picture(trace, tmp_path, monkeypatch, draw):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "old.png"
    path.write_text("the old picture")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="free some space"):
        trace.plot(path) if draw == "trace" else demo_runs.plot([SCORE], path)
    assert path.read_text() == "the old picture"
    assert os.listdir(tmp_path) == ["old.png"]


@pytest.mark.parametrize("path", ["curves", "curves.txt", "", 3, b"a.png"])
def test_a_path_that_names_no_picture_is_refused(trace, path):
    with pytest.raises(ValueError, match="path must"):
        trace.plot(path)
