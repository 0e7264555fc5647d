"""Moments of a probability flow from balanced noise: exact for affine maps, unbiased for others."""

import numpy as np
import pytest

from geomndp.evaluate import balanced_noise, flow_kl


def test_every_set_has_the_moments_of_white_noise():
    z = balanced_noise(3, 5, 4, seed=1)
    assert z.shape == (3, 10, 4)
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=1e-12)
    second = np.einsum("sni,snj->sij", z, z) / 10
    np.testing.assert_allclose(second, np.broadcast_to(np.eye(4), second.shape), atol=1e-12)
    with pytest.raises(ValueError, match="pairs"):
        balanced_noise(1, 3, 4)


def test_an_affine_map_has_no_sampling_error():
    random = np.random.default_rng(0)
    root, mean = random.normal(size=(3, 3)) + 2 * np.eye(3), random.normal(size=3)
    z = balanced_noise(2, 3, 3)
    kl = flow_kl(mean + z @ root.T, (mean, root @ root.T))
    assert kl == pytest.approx((0.0, 0.0), abs=1e-10)
    # KL(N(0, 1) || N(1, 4)) = log 2 + (1 + 1) / 8 - 1 / 2 per dimension
    kl = flow_kl(1 + 2 * z, (np.zeros(3), np.eye(3)))
    assert kl.value == pytest.approx(3 * (np.log(2) - 0.25))


def test_the_bias_of_a_curved_map_is_removed():
    """z + 0.3 (z^2 - 1) has variance 1 + 0.09 (E z^4 - 1), balanced noise E z^4 = 3 m / (m + 2)."""
    pairs = 16
    variance = 1 + 0.09 * (3 * pairs / (pairs + 2) - 1)
    kls = []
    for seed in range(200):
        z = balanced_noise(4, pairs, 1, seed)
        kls.append(flow_kl(z + 0.3 * (z**2 - 1), (np.zeros(1), np.eye(1))))
    values, errors = np.transpose(kls)
    exact = 0.5 * (1 / variance - 1 + np.log(variance))
    assert values.mean() == pytest.approx(exact, abs=4 * values.std() / np.sqrt(200))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.4)


def test_values_that_are_not_finite_give_no_distance():
    z = balanced_noise(2, 2, 1)
    z[0, 0, 0] = np.inf
    assert np.isnan(flow_kl(z, (np.zeros(1), np.eye(1))).value)
