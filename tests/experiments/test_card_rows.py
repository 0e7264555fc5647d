"""Rows of likelihood tables from cards: what was not measured is empty or left out."""

import pytest

from geomndp import _model_files
from geomndp.experiments.card_rows import card_metrics, cells, model_rows

CARDS = {
    "a": {"metrics": {"in": {"log_prob": [0.5, 0.01], "regret": [0.02, 0.01]}}},
    "b": {"metrics": {"in": {"log_prob": [-20.0, 0.1], "joint": {"log_prob": [0.4, 0.02]}}}},
}


@pytest.fixture(autouse=True)
def shipped(monkeypatch):
    monkeypatch.setattr(_model_files, "names", lambda: list(CARDS))
    monkeypatch.setattr(_model_files, "metadata", CARDS.__getitem__)


def test_metrics_of_a_card():
    assert card_metrics("a", "in")["log_prob"] == [0.5, 0.01]
    assert card_metrics("b", "in", "joint") == {"log_prob": [0.4, 0.02]}
    assert not any(card_metrics(*which) for which in ((None, "in"), ("c", "in"), ("a", "out")))
    assert cells(["a", None, "b"], "in", "log_prob") == ("0.500 ± 0.010", "", "*")


def test_rows_without_a_cell_are_left_out():
    rows = model_rows("M", ["a", "b"], "in")
    assert [row[0] for row in rows] == ["M", "regret of M", "M, joint route"]
    assert rows[1][1:] == ("0.020 ± 0.010", "") and rows[2][1:] == ("", "0.400 ± 0.020")
    assert [row[0] for row in model_rows("M", ["a"], "in", regret=False)] == ["M"]
