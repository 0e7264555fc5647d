"""Exact processes: large, traced and wrong requests."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White

from .cases import N, inputs, largest, normal, unchecked

__all__ = ["unchecked"]


def test_white_noise_at_any_size(getkey):
    n = 100_000
    x, y = inputs(n, key=getkey()), normal(n, 1, key=getkey())
    gp = GP(White(1.3), noise=0.1)
    posterior = gp.condition(x, y, 0.2)

    def everything(x, y, key):
        sample = posterior.sample(x, key=key)
        return sample, posterior.log_prob(x, y), posterior.mean_at(x), gp.log_prob(x, y)

    assert largest(everything, x, y, getkey()) <= 2 * n
    assert_allclose(posterior.log_prob(x, y), gp.log_prob(x, y), rtol=1e-12)


def test_hyperparameters_may_be_traced(unchecked, getkey):
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())

    def value(scale):
        return GP(SquaredExponential(scale, 1.0), noise=0.1).log_prob(x, y)

    slope = jax.jit(jax.grad(value))(jnp.asarray(0.7))
    values, step = jax.jit(value), 1e-5
    numeric = (values(jnp.asarray(0.7 + step)) - values(jnp.asarray(0.7 - step))) / (2 * step)
    assert_allclose(slope, numeric, rtol=1e-5, atol=1e-7)


X, Y = jnp.zeros((4, 2)), jnp.zeros((4, 1))
BAD = {
    "x of rank 1": ((X[:, 0], Y), {}, r"expected x of shape \(n, d\), got shape \(4,\)"),
    "y of rank 1": ((X, Y[:, 0]), {}, r"expected y of shape \(4, 1\), got shape \(4,\)"),
    "another n": ((X, Y[:3]), {}, r"expected y of shape \(4, 1\), got shape \(3, 1\)"),
    "another p": ((X, X), {}, r"expected y of shape \(4, 1\), got shape \(4, 2\)"),
    "NaN in x": ((X.at[2].set(jnp.nan), Y), {}, "expected finite x, got NaN .* in rows 2"),
    "NaN in y": ((X, Y.at[1:3].set(jnp.inf)), {}, "expected finite y, got NaN .* in rows 1, 2"),
    "a long mask": ((X, Y), {"mask": jnp.ones(5)}, r"expected mask of shape \(4,\), got .*\(5,\)"),
    "NaN in a real row": (
        (X, Y.at[:2].set(jnp.nan)),
        {"mask": jnp.asarray([0.0, 1.0, 1.0, 1.0])},
        "expected finite y, got NaN or infinity in rows 1$",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_refused_observations(name, unchecked):
    args, keywords, message = BAD[name]
    gp = GP(White() + SquaredExponential())
    for method in (gp.log_prob, gp.condition, gp.condition(X, Y).log_prob):
        with pytest.raises(ValueError, match=message):
            method(*args, **keywords)
    with pytest.raises(ValueError, match=message):
        gp.condition(X, Y).condition(*args, **keywords)


def test_other_refusals(unchecked):
    with pytest.raises(ValueError, match=r"expected noise >= 0, got -1.0"):
        GP(White(), noise=-1.0)
    gp = GP(White())
    with pytest.raises(ValueError, match=r"expected noise >= 0, got -1.0"):
        gp.condition(X, Y, -1.0)
    with pytest.raises(ValueError, match=r"expected noise >= 0, got -1.0"):
        gp.condition(X, Y).condition(X, Y, -1.0)
    with pytest.raises(ValueError, match=r"expected x of shape \(n, d\), got shape \(4,\)"):
        gp.sample(X[:, 0], key=jr.key(0))
    with pytest.raises(ValueError, match="expected num_samples to be a whole number >= 0, got -1"):
        gp.sample(X, key=jr.key(0), num_samples=-1)
    with pytest.raises(ValueError, match=r"mean function of shape \(4, 1\), got shape \(4, 2\)"):
        GP(White(), mean=lambda x: x).sample(X, key=jr.key(0))


def test_whole_numbers_and_half_precision_are_floats_to_a_process(unchecked):
    """Noise took the type of the inputs: 0.3 among whole numbers was none."""
    gp, x = GP(SquaredExponential(), noise=0.3), jnp.arange(4)[:, None]
    floats = x.astype(jnp.result_type(float))
    exact = gp.condition(floats, floats, noise=0.2)
    for same in (x.tolist(), x.astype(jnp.float16)):
        found = gp.condition(same, same, noise=0.2)
        assert_allclose(found.mean_and_std(same), exact.mean_and_std(floats))
        assert_allclose(found.log_prob(same, same), exact.log_prob(floats, floats))
        assert_allclose(gp.mean_and_std(same), gp.mean_and_std(floats))
    mask = jnp.ones(4).at[1].set(0.0)
    assert_allclose(exact.log_prob(x, x, [1, 0, 1, 1]), exact.log_prob(x, x, mask))
    assert_allclose(gp.sample(x, key=0), gp.sample(floats, key=jr.key(0)))
    assert_allclose(exact.mean_and_covariance(x)[1], exact.mean_and_covariance(floats)[1])


@pytest.mark.parametrize("noise", [[0.1, 0.2], jnp.ones(2), jnp.ones((2, 1))], ids=str)
def test_numbers_of_noise_variances_are_checked(noise, unchecked):
    """Two variances of two points, of two outputs, or of neither."""
    with pytest.raises(ValueError, match="expected one noise variance or a tuple of 1"):
        GP(SquaredExponential(), noise=noise)
    with pytest.raises(ValueError, match=r"expected one noise variance or 4, got shape \(2"):
        GP(SquaredExponential()).condition(X, Y, noise=jnp.asarray(noise))
    one, same = jnp.asarray([0.3]), jnp.arange(4.0)[:, None]
    found = GP(SquaredExponential(), noise=one).condition(same, same, noise=one)
    exact = GP(SquaredExponential(), noise=0.3).condition(same, same, noise=0.3)
    assert_allclose(found.mean_and_std(same), exact.mean_and_std(same))
