"""Transforms of outputs: inverses, derivatives, domains, and what they do to units and noise."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp._types import Batch
from geomndp._warnings import FirstOrderNoiseWarning
from geomndp.data import BoxCox, Identity, Logit, LogTransform, Normaliser, fit_transforms

TRANSFORMS = (
    Identity(),
    LogTransform(),
    LogTransform(2.0),
    BoxCox(0.5),
    BoxCox(-0.5, 1.0),
    BoxCox(2.0),
    Logit(),
    Logit(-3.0, 100.0),
)
each = pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: " ".join(repr(t).split()))


def inside(transform) -> np.ndarray:
    """Values in the domain of a transform."""
    low, high = max(transform.domain[0], -5.0), min(transform.domain[1], 5.0)
    return low + (high - low) * np.linspace(0.05, 0.95, 7)


@each
@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_inverse_and_derivative(transform, convert):
    y = convert(inside(transform))
    z = transform.forward(y)
    assert type(z) is type(y)
    assert_allclose(transform.inverse(z), y, rtol=1e-12, atol=1e-12)
    assert np.all(np.diff(z) > 0)
    slopes = jax.vmap(jax.grad(transform.forward))(jnp.asarray(y))
    assert_allclose(transform.log_derivative(y), jnp.log(slopes), rtol=1e-10, atol=1e-12)


def test_samples_beyond_the_range_of_a_power_are_clipped():
    assert_allclose(BoxCox(0.5, 1.0).inverse(np.asarray([-2.0, -10.0])), -1.0, atol=1e-12)
    far = BoxCox(-1.0).inverse(jnp.asarray([2.0, 50.0]))
    assert jnp.all(jnp.isfinite(far)) and jnp.all(far > 1e6)


@each
def test_density_in_the_data_units_integrates_to_one(transform):
    units = Normaliser(y_shift=0.3, y_scale=0.7, transform=transform)
    ends = np.asarray([[-2.5], [2.5]])
    if isinstance(transform, BoxCox):  # the range of a power has an end
        ends = 0.2 * ends
    z = np.linspace(ends[0], ends[1], 4001)
    y = units.inverse_y(z)

    @jax.vmap
    def density(y):
        z = units.forward_y(y[None])
        return jnp.exp(units.log_jacobian(y[None]) - jnp.sum(z**2) / 2) / jnp.sqrt(2 * jnp.pi)

    mass = np.trapezoid(density(jnp.asarray(y)), y[:, 0])
    normal = jax.scipy.stats.norm.cdf(ends[:, 0])
    assert_allclose(mass, normal[1] - normal[0], rtol=1e-5)


def test_log_jacobian_is_that_of_the_real_values(getkey):
    transforms = (LogTransform(1.0), Identity())
    units = Normaliser(y_shift=1.0, y_scale=[2.0, 5.0], transform=transforms)
    y = jr.uniform(getkey(), (4, 2))
    mask = jnp.asarray([[1.0, 1], [1, 0], [0, 1], [0, 0]])
    diagonal = jnp.log(jnp.diag(jax.jacobian(units.forward_y)(y).reshape(8, 8))).reshape(4, 2)
    assert_allclose(units.log_jacobian(y), jnp.sum(diagonal))
    junk = jnp.where(mask > 0, y, jnp.nan)
    assert_allclose(units.log_jacobian(junk, mask), jnp.sum(diagonal * mask))
    rows = jnp.asarray([1.0, 1, 0, 1])
    expected = jnp.sum(diagonal * rows[:, None])
    assert_allclose(units.log_jacobian(y.at[2].set(-9.0), rows), expected)


def test_units_are_those_of_the_transformed_values(getkey):
    y = jnp.exp(1 + 2 * jr.normal(getkey(), (5, 9, 1)))
    ones = jnp.ones((5, 9))
    units = Normaliser.fit(Batch(y, y, ones, ones), transform=LogTransform())
    z = np.asarray(units.forward_y(y))
    assert_allclose([z.mean(), np.mean(z**2)], [0, 1], atol=1e-12)
    assert_allclose(units.inverse_y(jnp.asarray(z)), y)
    with pytest.raises(ValueError, match=r"expected 0 < y < inf for LogTransform, got -1 in row 3"):
        Normaliser.fit(Batch(y, y.at[0, 3].set(-1.0), ones, ones), transform=LogTransform())


def test_noise_goes_through_to_first_order(getkey):
    units = Normaliser(y_scale=2.0, transform=LogTransform())
    y = 1 + 0.4 * jr.uniform(getkey(), (6, 1))
    with pytest.warns(FirstOrderNoiseWarning, match="LogTransform to first order"):
        noise = units.forward_noise(0.01**2, y)
    samples = units.forward_y(y[None] + 0.01 * jr.normal(jr.key(0), (20_000, 6, 1)))
    assert_allclose(noise, np.var(samples, axis=0)[:, 0], rtol=0.05)
    with pytest.raises(ValueError, match=r"small for LogTransform, got .* 0.5 at y = .* in row 0"):
        units.forward_noise(0.25, y)
    with pytest.raises(ValueError, match="expected one output for noise through a transform"):
        units.forward_noise(0.01, jnp.ones((6, 2)))


def test_known_noise_of_traced_values_goes_through_too():
    units, y = Normaliser(transform=LogTransform()), jnp.asarray([[2.0], [4.0]])
    slope = jax.grad(lambda y: units.forward_noise(np.full(2, 0.01), y).sum())(y)
    assert_allclose(slope, -0.02 / y**3, rtol=1e-6)


def test_candidates_are_those_that_the_values_allow():
    def names(*columns):
        y = np.stack(columns, axis=-1)[None]
        batch = Batch(y, y, np.ones(y.shape[:2]), np.zeros(y.shape[:2]))
        candidates = fit_transforms(batch)
        for transform in candidates.values():
            assert np.all(np.isfinite(Normaliser.fit(batch, transform).forward_y(y)))
        return list(candidates)

    normal = np.random.default_rng(0).normal(size=400)
    assert names(normal) == ["identity"]
    assert names(280 + normal) == ["identity"]
    assert names(np.exp(normal)) == ["identity", "log", "box-cox"]
    assert names(np.maximum(normal, 0.0)) == ["identity", "log", "box-cox"]
    assert names(1 / (1 + np.exp(-normal)))[-1] == "logit"
    assert names(np.exp(normal) - 1) == ["identity", "shifted log"]
    assert names(normal, np.exp(normal)) == ["identity", "log", "box-cox"]
    assert names(np.ones(5)) == ["identity"]


@pytest.mark.parametrize("share", [0.001, 0.3, 0.7])
def test_many_zeros_do_not_make_a_transform_steep(share):
    """Zeros are ties: the density there must not be that of a slope without bound."""
    rng = np.random.default_rng(0)
    rain = np.where(rng.random(4000) < share, 0.0, np.exp(rng.normal(size=4000)))[None, :, None]
    ones = np.ones((1, 4000))
    found = fit_transforms(Batch(rain, rain, ones, ones))
    for name in ("log", "box-cox"):
        (transform,) = found[name]
        typical = np.median(rain[rain > 0])
        steeper = transform.log_derivative(0.0) - transform.log_derivative(typical)
        assert steeper < np.log(1 + 4 / share**2)
    cloud = rain / rain.max()
    (logit,) = fit_transforms(Batch(cloud, cloud, ones, ones))["logit"]
    assert logit.lower < 0 and logit.upper > 1
    zeros = np.mean(cloud == 0)
    assert -logit.lower >= 0.499 * np.quantile(cloud[cloud > 0], zeros)


def test_candidates_of_outputs_that_are_never_seen_together():
    """Every value that is there counts, and no other."""
    y = np.exp(np.random.default_rng(0).normal(size=(2, 200, 2)))
    mask = np.zeros_like(y)
    mask[0, :, 0] = mask[1, :, 1] = 1.0
    y[mask == 0] = np.nan
    y[1, 0, 1] = -9.0
    found = fit_transforms(Batch(y, y, mask, 0 * mask))
    assert [type(t) for t in found["log"]] == [LogTransform, Identity]
    mask[1] = 0.0
    with pytest.raises(ValueError, match="at least one real point"):
        fit_transforms(Batch(y, y, mask, 0 * mask))


def test_the_exponent_is_the_likeliest():
    y = (3 + 0.5 * np.random.default_rng(0).normal(size=(1, 2000, 1))) ** 2
    ones = np.ones((1, 2000))
    assert fit_transforms(Batch(y, y, ones, ones))["box-cox"] == (BoxCox(0.5),)


def test_a_gaussian_law_after_a_candidate_has_a_mean():
    """Also of values whose likeliest power is negative: nothing of the law is at infinity."""
    z = np.random.default_rng(0).normal(size=(8, 25, 1))
    y = (3.0 + 0.5 * z) ** -2
    found = fit_transforms(Batch(y, y, np.ones((8, 25)), np.zeros((8, 25))))
    for name in ("log", "box-cox"):
        (transform,) = found[name]
        values = transform.forward(y)
        far = transform.inverse(values.mean() + 4 * values.std())
        assert y.max() < far < 100 * y.max()


def test_wrong_transforms_are_refused():
    with pytest.raises(ValueError, match="other than 0"):
        BoxCox(0.0)
    with pytest.raises(ValueError, match=r"lower < upper, got 1\.0 and 1\.0"):
        Logit(1.0, 1.0)
    with pytest.raises(ValueError, match="finite shift"):
        LogTransform(float("nan"))
    with pytest.raises(ValueError, match="expected transforms of outputs, got 'log'"):
        Normaliser(transform=["log"])
    with pytest.raises(ValueError, match=r"2 outputs to transform, got shape \(4, 3\)"):
        Normaliser(transform=[LogTransform(), Identity()]).forward_y(jnp.ones((4, 3)))


def test_candidates_where_outputs_are_never_seen_together():
    values = np.exp(np.random.default_rng(0).normal(size=(1, 40, 2)))
    mask = np.zeros((1, 40, 2))
    mask[:, :20, 0] = mask[:, 20:, 1] = 1.0
    values[:, 20:, 0] = -5.0  # missing
    arrays = [jnp.asarray(v) for v in (values, values, mask, mask)]
    found = fit_transforms(Batch(*arrays))
    assert found["log"] == (LogTransform(), LogTransform())


def test_a_candidate_has_finite_moments():
    y = jnp.asarray(1 / np.linspace(0.05, 1.0, 100))[None, :, None]  # uniform after a power of -1
    ones = jnp.ones((1, 100))
    (power,) = fit_transforms(Batch(y, y, ones, ones))["box-cox"]
    assert isinstance(power, BoxCox)
    assert power.exponent > 0
