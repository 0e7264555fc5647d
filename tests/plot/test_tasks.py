"""The figure of a comparison shows the paired gains that the table has."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.evaluate.task_metrics import TaskMetrics
from geomndp.plot import task_comparison


def metrics(shift):
    joint = np.arange(4.0) + shift
    pit = np.array([[0.1, np.nan], [0.2, 0.5], [0.7, 0.9], [0.4, np.nan]])
    return TaskMetrics(("a", "a", "b", "b"), ("u", "v", "u", "v"), {"joint": joint}, pit)


def test_bars_are_the_gains_of_the_first():
    every = {"ours": metrics(0.0), "GP": metrics(-1.0), "climatology": metrics(-2.0)}
    left, right = task_comparison(every, title="growth")
    heights = [bar.get_height() for bar in left.patches]
    assert_allclose(heights, [1, 1, 1, 2, 2, 2])
    assert [text.get_text() for text in left.get_xticklabels()] == ["a", "b", "all"]
    assert [text.get_text() for text in right.get_legend().get_texts()] == list(every)
    assert left.get_ylabel() == "gain of ours, nats per target value"
    plt.close(left.figure)


def test_nats_of_tracks_are_per_point():
    tracks = {name: metrics(shift) for name, shift in {"ours": 0.0, "GP": -1.0}.items()}
    for each in tracks.values():
        each.values["error_km"] = np.ones(4)
    left, _ = task_comparison(tracks)
    assert left.get_ylabel() == "gain of ours, nats per target point"
    plt.close(left.figure)


def test_one_process_is_no_comparison():
    with pytest.raises(ValueError, match="expected metrics of at least two processes, got 1"):
        task_comparison({"ours": metrics(0.0)})
