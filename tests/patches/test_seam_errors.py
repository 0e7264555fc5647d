"""The errors that `benchmarks/seams.py` reports: those of the noise alone, or of a seam."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import geomndp as gn

SIDE, SAMPLES, CHUNKS = 10, 1000, (5, 10)


@pytest.fixture
def errors(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("_seam_errors")


def samples(seam):
    """Squared-exponential samples; at a seam both halves are independent."""
    x = 0.5 * np.stack(np.meshgrid(*[np.arange(SIDE)] * 2, indexing="ij"), -1).reshape(-1, 2)
    squares = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    half = np.arange(len(x)) // (CHUNKS[0] * SIDE)
    kept = (half[:, None] == half[None]) if seam else 1.0
    factor = np.linalg.cholesky(np.exp(-squares / 2) * kept + 0.1 * np.eye(len(x)))
    noise = np.random.default_rng(0).normal(size=(SAMPLES, len(x)))
    return (noise @ factor.T).reshape(SAMPLES, SIDE, SIDE, 1)


def test_exact_samples_have_no_error_but_noise(errors):
    exact, y = errors.ExactField(gn.kernels.SquaredExponential(1.0), 0.1, 0.5), samples(seam=False)
    found = errors.point_errors(y, exact) | errors.pair_errors(y, exact, CHUNKS)
    assert {name: part.summary()["z"] for name, part in found.items()} == pytest.approx(
        dict.fromkeys(found, 1.0), abs=0.5
    )
    assert set(errors.spectrum_ratio(y, exact)) == {"4 to 8"}
    assert errors.spectrum_ratio(y, exact)["4 to 8"] == pytest.approx(1, abs=0.05)


def test_an_error_at_the_seam_is_seen_there_alone(errors):
    exact, y = errors.ExactField(gn.kernels.SquaredExponential(1.0), 0.1, 0.5), samples(seam=True)
    found = errors.pair_errors(y, exact, CHUNKS)
    across, within = (found[f"{name}, lag 1"].summary() for name in ("across", "within"))
    assert across["systematic"] == pytest.approx(np.exp(-1 / 8) / 1.1, abs=0.02)
    assert within["systematic"] < 0.05
