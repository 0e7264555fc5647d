"""Quadrature of noisy sawtooths against Monte Carlo, integrals, and its own samples."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.exact_laws import SawtoothLaw
from geomndp.data import Sawtooth, regression1d

WAVE = Sawtooth(terms=(2, 4), centred=False, noise=0.2**2)
LAW = SawtoothLaw(WAVE)
X = jnp.asarray([[-1.3], [0.2], [0.9], [1.7]])


def series(wave, x, f, s, terms):
    """Values without noise by the definition, many functions: (m, n)."""
    k = np.arange(1, wave.terms[1] + 1)
    phase = f[:, None, None] * (x[None, :, None] - s[:, None, None])
    sines = (-1.0) ** k * np.sin(2 * np.pi * k * phase) / k
    kept = k[None, None, :] <= terms[:, None, None]
    return wave.mean - wave.amplitude / np.pi * np.sum(np.where(kept, sines, 0), axis=2)


def monte_carlo(wave, x, y, num=400_000):
    """Density of y by plain averaging over frequency, shift and terms, with its error."""
    rng = np.random.default_rng(0)
    f, s = rng.uniform(3, 5, num), rng.uniform(-5, 5, num)
    terms = rng.integers(wave.terms[0], wave.terms[1] + 1, num)
    squares = np.sum((y[:, 0] - series(wave, x[:, 0], f, s, terms)) ** 2, axis=1)
    densities = np.exp(-0.5 * squares / wave.noise) / (2 * np.pi * wave.noise) ** (len(x) / 2)
    return densities.mean(), densities.std() / np.sqrt(num)


@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_density_is_that_of_plain_monte_carlo(shift):
    x = X + shift
    y = WAVE.sample(x, key=jr.key(1))
    density = np.exp(float(LAW.condition(x[:0], y[:0]).log_prob(x, y)))
    mean, error = monte_carlo(WAVE, np.asarray(x), np.asarray(y))
    assert abs(density - mean) < 4 * error < 0.1 * mean


def test_a_conditional_density_is_a_ratio_and_integrates_to_one():
    y = WAVE.sample(X, key=jr.key(2))
    law = LAW.condition(X[:3], y[:3])
    prior = LAW.condition(X[:0], y[:0])
    ratio = prior.log_prob(X, y) - prior.log_prob(X[:3], y[:3])
    assert_allclose(law.log_prob(X[3:], y[3:]), ratio, atol=2e-4)
    grid = jnp.linspace(-1.5, 2.5, 161)
    density = jax.jit(jax.vmap(lambda v: jnp.exp(law.log_prob(X[3:], v.reshape(1, 1)))))(grid)
    assert_allclose(jnp.sum(density) * (grid[1] - grid[0]), 1, atol=2e-4)


def test_padding_changes_nothing():
    y = WAVE.sample(X, key=jr.key(3))
    mask = jnp.asarray([1.0, 1.0, 0.0])
    padded = LAW.condition(X[:3].at[2].set(7.0), y[:3].at[2].set(9.0), mask=mask)
    plain = LAW.condition(X[:2], y[:2])
    targets = jnp.concatenate([X[3:], X[:1] + 50]), jnp.concatenate([y[3:], y[:1]])
    masked = padded.log_prob(*targets, mask=jnp.asarray([1.0, 0.0]))
    assert_allclose(masked, plain.log_prob(X[3:], y[3:]), atol=2e-4)


def test_samples_have_the_law_of_the_density():
    y = WAVE.sample(X, key=jr.key(4))
    law = LAW.condition(X[:2], y[:2])
    samples = law.sample(X[3:], key=jr.key(5), num_samples=2000)[:, 0, 0]
    grid = jnp.linspace(-1.5, 2.5, 81)
    density = jax.jit(jax.vmap(lambda v: jnp.exp(law.log_prob(X[3:], v.reshape(1, 1)))))(grid)
    width = grid[1] - grid[0]
    mean = jnp.sum(density * grid) * width
    square = jnp.sum(density * grid**2) * width
    std = jnp.sqrt(square - mean**2)
    assert abs(samples.mean() - mean) < 4 * std / np.sqrt(2000)
    assert abs(jnp.mean(samples**2) - square) < 4 * jnp.std(samples**2) / np.sqrt(2000)


def test_finer_quadrature_agrees():
    y = WAVE.sample(X, key=jr.key(6))
    finer = SawtoothLaw(WAVE, spacing=0.05)
    values = [law.condition(X[:0], y[:0]).log_prob(X, y) for law in (LAW, finer)]
    assert_allclose(*values, atol=1e-4)


@pytest.mark.slow
def test_spacing_is_fine_enough_for_the_functions_of_2020():
    problem = regression1d("gnp2020", "sawtooth")
    tasks = problem.tasks(4, seed=5)
    fine, coarse = (SawtoothLaw(problem.process, spacing=h) for h in (0.75, 1.5))
    for x, y, mask, context in zip(*tasks[:4], strict=True):
        both = [law.log_evidence(x, y, mask - context) for law in (fine, coarse)]
        assert_allclose(*both, atol=0.01)  # of 100 targets together


def test_inputs_that_range_wider_than_the_frequencies_resolve_are_refused():
    x = jnp.linspace(-40.0, 40.0, 12)[:, None]
    y = WAVE.sample(x, key=jr.key(7))
    prior = LAW.condition(x[:0], y[:0])
    with pytest.raises(ValueError, match="expected spread >= "):
        prior.log_prob(x, y)
    assert jnp.isnan(jax.jit(lambda x: prior.log_prob(x, y))(x))
    wide, finer = (SawtoothLaw(WAVE, h, spread=25.0) for h in (1.5, 0.75))
    values = [law.condition(x[:0], y[:0]).log_prob(x, y) for law in (wide, finer)]
    assert_allclose(*values, atol=1e-2)


def test_functions_without_noise_are_refused():
    with pytest.raises(ValueError, match="noise > 0"):
        SawtoothLaw(Sawtooth(terms=(2, 4)))
    with pytest.raises(ValueError, match="without further noise"):
        LAW.condition(X, X, noise=0.1)
