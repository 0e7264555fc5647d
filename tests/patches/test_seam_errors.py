"""The errors that `benchmarks/seams.py` reports: those of the noise alone, or of a seam."""

import numpy as np
import pytest

import geomndp as gn

SIDE, SAMPLES, CHUNKS = 10, 1000, (5, 10)


@pytest.fixture
def errors(import_benchmark):
    return import_benchmark("_seam_errors")


@pytest.fixture
def spectra(import_benchmark):
    return import_benchmark("_scheme_spectrum")


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


def test_variances_by_patches_are_those_of_their_joint_law(spectra, errors):
    """Against the joint law as one matrix, each patch a linear map of what it sees."""
    exact = errors.ExactField(gn.kernels.DivergenceFree(1.0), 0.1, 0.5)
    axes = (0.5 * np.arange(6), 0.5 * np.arange(5))
    layout = gn.patches.plan(gn.patches.grid(axes), gn.patches.Patches(width=1.2, halo=0.9))
    x = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    dense, root = spectra.covariance(exact, x), np.zeros((60, 60))
    for patch in sorted(layout.patches, key=lambda patch: patch.stage):
        own, seen = layout.rows(patch), spectra.seen_rows(layout, patch)
        own, seen = ((2 * rows[:, None] + np.arange(2)).reshape(-1) for rows in (own, seen))
        slope = np.linalg.solve(dense[np.ix_(seen, seen)], dense[np.ix_(seen, own)]).T
        left = dense[np.ix_(own, own)] - slope @ dense[np.ix_(seen, own)]
        root[own] = slope @ root[seen]
        root[np.ix_(own, own)] += np.linalg.cholesky(left)
    weights = np.random.default_rng(0).normal(size=(30, 2, 3))
    found = spectra.variance_of_sums(layout, exact, weights)
    flat = weights.reshape(60, 3)
    np.testing.assert_allclose(found, np.sum((root.T @ flat) ** 2, axis=0), rtol=1e-9)
    assert np.max(np.abs(found / np.sum(flat * (dense @ flat), axis=0) - 1)) > 0.01


def test_the_spectrum_of_one_patch_is_exact_and_of_small_ones_is_not(spectra, errors):
    exact = errors.ExactField(gn.kernels.SquaredExponential(1.0), 0.1, 0.5)
    axes = (0.5 * np.arange(SIDE),) * 2
    one, many = (
        spectra.scheme_spectrum(
            gn.patches.plan(gn.patches.grid(axes), gn.patches.Patches(width=width, halo=0.6)),
            exact,
            4.0,
        )
        for width in (9.0, 1.2)
    )
    assert one == {"4 to 8": pytest.approx(1, abs=1e-4)}
    assert abs(many["4 to 8"] - 1) > 0.02
