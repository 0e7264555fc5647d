"""Processes: the law that is said is the law that is drawn."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import data
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential

PROBLEMS = [(suite, name) for suite in data.SUITES for name in data.NAMES]


def draw(process, x, num, key):
    return jax.jit(jax.vmap(lambda k: process.sample(x, key=k)))(jr.split(key, num))[:, :, 0]


@pytest.mark.parametrize(("suite", "name"), PROBLEMS)
def test_mean_and_variance_are_those_of_samples(suite, name):
    process = data.regression1d(suite, name).process
    num = 4000
    y = np.asarray(draw(process, jnp.asarray([[0.3], [40.0]]), num, jr.key(1)))
    # Values a long way apart are nearly independent: 2 num draws of one value.
    spread = np.sqrt(process.variance)
    assert abs(y.mean() - process.mean) < 5 * spread / np.sqrt(2 * num)
    fourth = np.mean((y - process.mean) ** 4) / process.variance**2
    bound = 5 * np.sqrt((fourth - 1) / (2 * num))
    assert abs(y.var() / process.variance - 1) < bound


@pytest.mark.parametrize(
    ("suite", "name", "distance", "expected"),
    [
        ("paper", "se", 0.25, np.exp(-0.5)),
        ("paper", "matern", 0.25, (1 + 5**0.5 + 5 / 3) * np.exp(-(5**0.5))),
        ("paper", "weakly-periodic", 1.0, np.exp(-2)),
        ("paper", "weakly-periodic", 0.5, np.exp(-0.5 - 8)),
        ("gnp2020", "weakly-periodic", 0.25, np.exp(-1 / 8)),
        ("gnp2020", "weakly-periodic", 0.125, np.exp(-1 / 32 - 2)),
    ],
)
def test_covariance_of_the_gaussian_sets(suite, name, distance, expected):
    process = data.regression1d(suite, name).process
    matrix = process.gp.gram(jnp.asarray([[0.0], [distance]])).dense()
    assert_allclose(matrix, [[1.0025, expected], [expected, 1.0025]], rtol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_sawtooth_is_the_series_of_its_definition(dtype, getkey):
    wave = data.Sawtooth(terms=(15, 15), centred=False)
    key = getkey()
    x = jnp.linspace(2, 6, 40, dtype=dtype)[:, None]
    keys = jr.split(key, 4)
    f = float(jr.uniform(keys[0], (), dtype, 3.0, 5.0))
    s = float(jr.uniform(keys[1], (), dtype, -5.0, 5.0))
    k = np.arange(1, 16)[None, :]
    points = np.asarray(x, np.float64)
    series = (-1.0) ** k * np.sin(2 * np.pi * k * f * (points - s)) / k
    expected = 0.5 - series.sum(1, keepdims=True) / np.pi
    # float32: the input's own rounding, times a slope of at most 2 f T.
    tolerance = 1e-10 if dtype == jnp.float64 else 150 * 2e-6
    assert_allclose(wave.sample(x, key=key), expected, atol=tolerance)


def test_sawtooth_of_the_paper():
    wave = data.regression1d("paper", "sawtooth").process
    assert wave.mean == 0 and wave.noise == 0 and wave.gp is None
    assert round(wave.variance, 4) == 0.0797


def test_mixture_components_keep_their_laws():
    mixture = data.regression1d("gnp2020", "mixture").process
    x, num = jnp.linspace(-2, 2, 5)[:, None], 3000
    assert len(mixture.components) == 5

    @jax.jit
    def draw_all(pick, key):
        keys = jr.split(key, num)
        return jax.vmap(lambda key: mixture.sample_component(pick, x, key=key))(keys)[:, :, 0]

    for pick, component in enumerate(mixture.components):
        y = draw_all(pick, jr.key(pick))
        assert abs(float(y.mean()) - component.mean) < 5 * np.sqrt(component.variance / num)
        if component.gp is not None:
            exact = component.gp.gram(x).dense()
            assert_allclose(jnp.cov(y.T), exact, atol=6 * np.sqrt(2 / num) * component.variance)


def test_mixture_components_are_equally_likely():
    near = data.regression1d("paper", "se").process
    far = data.Sawtooth(terms=(9, 19), amplitude=100.0, centred=False)
    y = draw(data.Mixture(near, far, near), jnp.zeros((1, 1)), 3000, jr.key(0))
    share = np.mean(np.abs(y) > 5)
    # A wave of amplitude 100 is below 5 a twentieth of the time.
    assert abs(share - 0.95 / 3) < 5 * np.sqrt(share * (1 - share) / 3000) + 0.01


def test_mixture_variance_of_the_paper():
    assert_allclose(data.regression1d("paper", "mixture").process.variance, (3 * 1.0025 + 1) / 4)


def test_samples_follow_the_key_and_the_dtype(getkey):
    process = data.regression1d("paper", "mixture").process
    key, x = getkey(), jnp.linspace(-2, 2, 7, dtype=jnp.float32)[:, None]
    y = process.sample(x, key=key)
    assert y.dtype == jnp.float32
    assert jnp.array_equal(y, process.sample(x, key=key))


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"'se', 'matern', 'weakly-periodic'.*got 'sine'"):
        data.regression1d("paper", "sine")
    with pytest.raises(ValueError, match=r"'paper', 'gnp2020', 'np2023', got 'gnp'"):
        data.regression1d("gnp", "se")


def test_sharp_sawtooth_is_piecewise_linear_with_a_frequency_of_its_range():
    wave = data.regression1d("np2023", "sawtooth").process
    x = jnp.linspace(-2, 2, 4001)[:, None]
    y = np.asarray(draw(wave, x, 400, jr.key(3)))
    assert y.min() >= 0 and y.max() <= 1
    slopes = np.median(np.diff(y, axis=1), axis=1) * 1000  # edges are a few of 4000 steps
    steps = np.diff(y, axis=1) * 1000 - slopes[:, None]
    cycles = steps / -1000 * np.sign(slopes)[:, None]
    assert_allclose(cycles, np.round(cycles), atol=1e-6)  # every step is the slope's, or an edge
    frequencies = np.abs(slopes)
    assert frequencies.min() > 2 and frequencies.max() < 4
    assert abs(frequencies.mean() - 3) < 5 * np.sqrt(4 / 12 / 400)
    assert abs(np.mean(slopes > 0) - 0.5) < 5 * 0.5 / np.sqrt(400)


def test_sets_of_2023_have_the_noise_of_their_library():
    for name in ("se", "matern", "weakly-periodic"):
        process = data.regression1d("np2023", name).process
        assert_allclose(process.gp.gram(jnp.zeros((1, 1))).dense(), [[1.05]], rtol=1e-12)
    mixture = data.regression1d("np2023", "mixture").process
    assert [component.noise for component in mixture.components] == [0.05, 0.05, 0.05, 0.0]


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="frequencies low < high"):
        data.SharpSawtooth((4.0, 2.0))
    with pytest.raises(ValueError, match="frequencies > 0"):
        data.SharpSawtooth((0.0, 2.0))
    with pytest.raises(ValueError, match="amplitude > 0"):
        data.Sawtooth(terms=(9, 19), amplitude=0.0)
    with pytest.raises(ValueError, match=">= 9, got 4"):
        data.Sawtooth(terms=(9, 4))
    with pytest.raises(ValueError, match="at least one Gaussian"):
        data.Mixture(data.Sawtooth(terms=(9, 19)))
    with pytest.raises(ValueError, match="without a mean"):
        data.Gaussian(GP(SquaredExponential(), mean=lambda x: x))
