"""What holds for every baseline."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import baselines

from ...cases import compilations
from .helper import FITS, KNOWN, LAWS, TARGETS, TIMES, tracks

every = pytest.mark.parametrize("name", FITS)
with_a_law = pytest.mark.parametrize("name", LAWS)


@functools.cache
def fitted(name, dtype="float64"):
    x, y = (jnp.asarray(value, dtype=dtype) for value in tracks(400))
    return FITS[name](x, y)


def blurred(baseline, variance):
    """The same with densities blurred by tangent noise."""
    return dataclasses.replace(baseline, density_noise=variance)


def storm(dtype="float64", seed=1):
    """A context, target times and target points."""
    _, y = tracks(1, seed=seed)
    x, y = jnp.asarray(TIMES, dtype=dtype), jnp.asarray(y[0], dtype=dtype)
    return (x[KNOWN], y[KNOWN]), x[TARGETS], y[TARGETS]


@every
def test_means_and_samples_are_on_the_sphere_in_float32(name):
    context, x, _ = storm("float32")
    baseline = fitted(name, "float32")
    mean = baseline.condition(*context).mean(x)
    samples = baseline.condition(*context).sample(x, key=jr.key(0), num_samples=3)
    assert mean.shape == (4, 3) and samples.shape == (3, 4, 3)
    assert mean.dtype == samples.dtype == jnp.float32
    for found in (mean, samples):
        assert_allclose(jnp.sum(found**2, axis=-1), 1, atol=1e-5)
    assert_array_equal(
        samples, baseline.condition(*context).sample(x, key=jr.key(0), num_samples=3)
    )


@every
def test_the_order_of_points_does_not_matter(name):
    (xc, yc), x, y = storm()
    baseline, shuffle, turn = fitted(name), np.array([3, 5, 0, 2, 1, 4]), np.array([2, 0, 3, 1])
    mean = baseline.condition(xc, yc).mean(x)
    moved = baseline.condition(xc[shuffle], yc[shuffle]).mean(x[turn])
    assert_allclose(moved, mean[turn], atol=1e-8)
    if name in LAWS:
        first = blurred(baseline, 1e-6).condition(xc, yc).log_prob(x, y)
        moved = blurred(baseline, 1e-6).condition(xc[shuffle], yc[shuffle])
        second = moved.log_prob(x[turn], y[turn])
        assert_allclose(first, second, rtol=1e-6)
        # Noise bounds the density.
        found = blurred(baseline, 1e-2).condition(xc, yc).log_prob(x, y)
        assert found < -len(x) * np.log(2 * np.pi * 1e-2)


@eqx.filter_jit
def density_at_samples(predictive, x, proposal):
    """Log-densities of the law at its own samples, and of it and a wider one at the other's."""
    own = predictive.sample(x, key=jr.key(3), num_samples=2000)
    other = proposal.sample(key=jr.key(4), num_samples=10_000)
    at_own = jax.vmap(lambda y: predictive.log_prob(x, y))(own)
    at_other = jax.vmap(lambda y: predictive.log_prob(x, y[None]))(other)
    return at_own, at_other, jax.vmap(proposal.log_prob)(other)


@pytest.mark.slow
@with_a_law
def test_the_density_is_that_of_the_samples(name):
    """It integrates to one, and gives one entropy at its samples and at weighted other ones."""
    (xc, yc), x, _ = storm()
    baseline = fitted(name)
    samples = baseline.condition(xc, yc).sample(x[1:2], key=jr.key(2), num_samples=500)
    centre = baseline.condition(xc, yc).mean(x[1:2])
    spread = 1.5 * jnp.sqrt(jnp.mean(jnp.sum((samples - centre[None]) ** 2, axis=-1)) / 2)
    proposal = baselines.GenesisDensity(centre, 1 / spread**2)
    found = density_at_samples(baseline.condition(xc, yc), x[1:2], proposal)
    own, other, wide = (np.asarray(value) for value in found)
    ratio = np.exp(other - wide)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(ratio)) + 1e-3
    entropy = ratio * other
    error = entropy.std() / np.sqrt(len(ratio)) + own.std() / np.sqrt(len(own))
    assert abs(entropy.mean() - own.mean()) < 4 * error


@with_a_law
def test_nothing_known(name):
    (xc, yc), x, y = storm()
    nothing = (xc[:0], yc[:0])
    baseline = fitted(name)
    assert baseline.condition(*nothing).sample(x, key=jr.key(0), num_samples=5).shape == (5, 4, 3)
    assert np.isfinite(blurred(baseline, 1e-6).condition(*nothing).log_prob(x, y))


@every
def test_refusals(name):
    (xc, yc), x, y = storm()
    baseline = fitted(name)
    with pytest.raises(ValueError, match="got points off it in rows 2"):
        baseline.condition(xc, yc.at[2].multiply(1.1)).mean(x)
    with pytest.raises(ValueError, match="NaN or infinity in rows 1"):
        baseline.condition(xc, yc.at[1, 0].set(jnp.nan)).mean(x)
    with pytest.raises(ValueError, match="each time once, got a repeated one"):
        baseline.condition(xc.at[1].set(xc[0]), yc).mean(x)
    with pytest.raises(ValueError, match="context points without noise"):
        baseline.condition(xc, yc, noise=0.1)
    if name not in LAWS:
        with pytest.raises(ValueError, match="is a single track"):
            baseline.condition(xc, yc).log_prob(x, y)


def padded(values, count=3):
    """Rows of anything below, and the mask."""
    rows = jnp.concatenate([values, jnp.full((count, values.shape[1]), 7.0, values.dtype)])
    return rows, (jnp.arange(len(rows)) < len(values)).astype(values.dtype)


@every
def test_masked_rows_do_not_count_under_jit_and_vmap(name):
    (xc, yc), x, y = storm()
    baseline = fitted(name)
    many = jnp.stack([yc, storm(seed=2)[0][1]])

    @eqx.filter_jit
    def masked(baseline, xc, yc, x, y, mask, target_mask):
        predictive = baseline.condition(xc, yc, mask=mask)
        density = predictive.log_prob(x, y, mask=target_mask) if name in LAWS else 0.0
        return predictive.mean(x[: len(y) - 3]), density

    (xc_padded, mask), (x_padded, target_mask) = padded(xc), padded(x)
    rest = (padded(y)[0], mask, target_mask)
    means, densities = jax.vmap(
        lambda yc: masked(baseline, xc_padded, padded(yc)[0], x_padded, *rest)
    )(many)
    for i in range(2):
        predictive = baseline.condition(xc, many[i])
        assert_allclose(means[i], predictive.mean(x), atol=1e-8)
        if name in LAWS:
            assert_allclose(densities[i], predictive.log_prob(x, y), rtol=1e-6)


@with_a_law
def test_a_context_of_masked_rows_is_none(name):
    (xc, yc), x, y = storm()
    baseline = fitted(name)
    masked = baseline.condition(xc, yc, mask=jnp.zeros(len(xc)))
    nothing = baseline.condition(xc[:0], yc[:0])
    assert_allclose(masked.log_prob(x, y), nothing.log_prob(x, y), rtol=1e-9)
    traced = jax.jit(lambda mask: baseline.condition(xc, yc, mask=mask).log_prob(x, y))
    assert_allclose(traced(jnp.zeros(len(xc))), nothing.log_prob(x, y), rtol=1e-5)


@every
def test_one_compilation_per_bucketed_shape(name):
    (xc, yc), x, y = storm()
    baseline = fitted(name)

    def ask(context):
        predictive = baseline.condition(*context)
        mean = predictive.mean(x)
        return mean, predictive.log_prob_info(x, y).value if name in LAWS else mean

    parts = [(xc[rows], yc[rows]) for rows in (np.arange(6), np.r_[:3, 4:6])]
    ask(parts[0])
    assert compilations(lambda: ask(parts[1])) == 0


@with_a_law
def test_moments_of_samples(name):
    context, x, _ = storm()
    predictive = fitted(name).condition(*context)
    mean, std = predictive.mean_and_std(x, key=jr.key(0))
    samples = predictive.sample(x, key=jr.key(1), num_samples=400)
    assert_allclose(mean, predictive.mean(x))
    assert_allclose(std, jnp.std(samples, axis=0), rtol=0.4)
    with pytest.raises(ValueError, match="expected a key"):
        predictive.mean_and_std(x)
