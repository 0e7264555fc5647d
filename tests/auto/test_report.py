"""The report: one sentence, one table, JSON."""

import dataclasses
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.auto.outcome import of_few
from geomndp.auto.report import (
    CandidateResult,
    SelectionReport,
    coverage_by_kind,
    pit_histogram,
)
from geomndp.auto.validation import ValidationTasks


def _report(chosen):
    rows = (
        CandidateResult("corrected", -0.42, 0.0, {"few": -0.5, "many": -0.34}),
        CandidateResult("GP", -0.49, 0.02, {"few": -0.6, "many": -0.38}, "SE+M32"),
        CandidateResult("network", -1.71, 0.3, {"few": -2.0, "many": -1.42}),
    )
    coverage = {"few": 0.88, "many": 0.9, "all": 0.89}
    seconds = {"Gaussian": 5.0, "networks": 100.0}
    return SelectionReport(rows, chosen, -0.42, coverage, (0.1,) * 10, 12, 0, ((1, 2),), seconds)


def test_the_sentence_names_all_and_the_choice():
    assert _report((("corrected", 1.0),)).sentence() == (
        "held-out: corrected -0.42, GP -0.49, network -1.71 nats per target; chosen: corrected, "
        "-0.42 nats, 90% coverage 0.89"
    )
    mixture = _report((("corrected", 0.7), ("GP", 0.3))).sentence()
    assert "chosen: mixture of corrected (0.70), GP (0.30), -0.42 nats" in mixture


def test_the_table_and_the_json_hold_everything():
    report = _report((("corrected", 1.0),))
    text = str(report)
    for words in ("SE+M32", "few -0.600", "12 held-out functions, seed 0", "networks 100"):
        assert words in text
    assert text.endswith(report.sentence())
    content = json.loads(json.dumps(report.as_json()))
    assert content["candidates"][1]["by_kind"] == {"few": -0.6, "many": -0.38}


def test_one_function_has_no_standard_error():
    report = _report((("corrected", 1.0),))
    rows = (CandidateResult("GP", -0.49, float("inf"), {"few": -0.6}),)
    errors = {"few": float("inf"), "all": 0.03}
    one = dataclasses.replace(report, candidates=rows, coverage_error=errors, num_held_out=1)
    text = one.details()
    assert "inf" not in text and "nan" not in text
    assert "few 0.88, many 0.90, all 0.89 +- 0.03" in text and "1 held-out function, seed" in text


def test_long_notes_stand_on_lines_of_their_own():
    report = _report((("corrected", 1.0),))
    long = CandidateResult("GP", -0.4, 0.0, {"few": -0.4}, "a sum of two kernels, " * 12)
    text = str(dataclasses.replace(report, candidates=(long,)))
    assert max(map(len, text.splitlines())) <= 120
    assert " ".join(text.split()).count("a sum of two kernels,") == 12
    assert text.count("held-out: ") == 1 and "held-out: " not in report.details()


def test_a_candidate_without_a_density_can_be_saved():
    """A file of a model takes no infinite numbers."""
    report = _report((("corrected", 1.0),))
    diverged = CandidateResult("network", -np.inf, np.inf, {"few": -np.inf, "many": np.nan})
    report = dataclasses.replace(report, candidates=(*report.candidates, diverged))
    content = json.loads(json.dumps(report.as_json(), allow_nan=False))
    last = content["candidates"][-1]
    assert last["nats"] is None and last["by_kind"] == {"few": None, "many": None}
    assert content["candidates"][0]["nats"] == -0.42


@pytest.mark.parametrize("spread", [1.0, 0.5])
def test_coverage_of_laws_that_are_right_and_too_narrow(spread):
    """PIT of standard normal values under normal laws of another spread."""
    from scipy.stats import norm

    pit = norm(scale=spread).cdf(np.random.default_rng(0).normal(size=(400, 50)))
    pit[::2, 30:] = np.nan
    kind, empty = np.array(["few", "many"] * 200), np.zeros((400, 1, 1))
    row = np.arange(400) // 2
    tasks = ValidationTasks(empty, empty, empty, empty, 0, row, kind, row)
    coverage, errors = coverage_by_kind(pit, tasks)
    share = coverage["all"]
    assert_allclose(errors["all"], np.sqrt(share * (1 - share) / np.isfinite(pit).sum()), rtol=0.2)
    assert_allclose(list(coverage.values()), 1 - 2 * norm.cdf(-1.645 * spread), atol=0.02)
    rows = np.repeat(np.arange(400), 4)  # four equal scans of every person say no more than one
    scans = tasks.take(rows)._replace(function=np.arange(1600))
    of_groups = coverage_by_kind(pit[rows], scans)[1]
    assert_allclose(of_groups["all"], errors["all"])
    histogram = pit_histogram(pit)
    assert_allclose(sum(histogram), 1.0)
    assert (max(histogram) < 0.11) == (spread == 1.0)


def test_few_data_are_said():
    """Of functions with 30 and 60 values of two outputs, and of many."""
    mask = np.zeros((12, 10, 2))
    mask[:6, :, 0] = mask[:3, :, 1] = 1.0
    (held_out, values) = of_few(mask, 3)
    assert "3 held-out functions" in held_out and values.startswith("30 values of an output")
    assert of_few(np.ones((12, 10), bool), 5) == []
