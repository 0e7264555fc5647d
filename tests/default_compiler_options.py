"""Checks of numbers under XLA's own options: run as a script, in a process of its own.

Tests run with options that compile fast and fuse little. What users run is fused: a number may be
computed anew for each of its uses, and rounded differently each time.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from geomndp import Model, samplers
from geomndp.data import fibonacci
from geomndp.geometry import Sphere
from geomndp.geometry.heat import densities
from geomndp.gp import GP
from geomndp.kernels import Matern12, Matern32, Matern52, White
from geomndp.nets import Steerable2, SteerableSphere
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.score import GaussianScore
from geomndp.train.known_noise import noise_further

LENGTH, VARIANCE = 0.97, 1.3
POINTS = np.asarray([1, 1.25, 1.25, 1.75, 2, 3, 4, 5, 6, 7, 8, 8.5])[:, None]


def _scaled(x):
    """Inputs in a model's units: what a compiler fuses with their differences."""
    return (x - 9.854) / 5.321


def _correlations(distance):
    root3, root5 = np.sqrt(3) * distance, np.sqrt(5) * distance
    return {
        Matern12: np.exp(-distance),
        Matern32: (1 + root3) * np.exp(-root3),
        Matern52: (1 + root5 + root5**2 / 3) * np.exp(-root5),
    }


def check_covariances_and_log_densities() -> None:
    distance = np.abs(_scaled(POINTS) - _scaled(POINTS).T) / LENGTH
    y = np.sin(POINTS)
    for kernel, correlation in _correlations(distance).items():
        gp = GP(kernel(LENGTH, VARIANCE), noise=0.01)
        gram = jax.jit(lambda x, gp=gp: gp.kernel.gram(_scaled(x)).dense())(jnp.asarray(POINTS))
        assert_allclose(gram, VARIANCE * correlation, rtol=1e-12)
        expected = multivariate_normal.logpdf(
            y[:, 0], np.zeros(len(y)), VARIANCE * correlation + 0.01 * np.eye(len(y))
        )
        log_prob = jax.jit(lambda x, y, gp=gp: gp.log_prob(_scaled(x), y))
        assert_allclose(log_prob(jnp.asarray(POINTS), jnp.asarray(y)), expected, rtol=1e-7)


def check_a_sampler() -> None:
    """Draws with the exact score have the mean and spread of the exact posterior."""
    gp = GP(Matern32(LENGTH, VARIANCE), noise=0.01)
    model = Model(OrnsteinUhlenbeck(White(), DEFAULT_SCHEDULE_1D), GaussianScore(gp))
    xc, x = jnp.asarray([[0.0], [0.5], [0.5]]), jnp.asarray([[0.5], [1.0]])
    yc = jnp.asarray([[0.3], [-0.2], [-0.2]])
    sampler = samplers.Amortised(20)
    draws = model.condition(xc, yc).sample(x, key=0, num_samples=2000, sampler=sampler)
    mean, std = gp.condition(xc, yc).mean_and_std(x)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * std / np.sqrt(2000) + 0.02)
    assert_allclose(np.std(draws, axis=0), std, rtol=0.12)


def check_quotients_of_zero() -> None:
    """Where numerator and divisor vanish together, after arithmetic that rounds."""
    sphere, raw = Sphere(2), jr.normal(jr.key(0), (500, 3))

    @jax.jit
    def there_and_back(raw):
        y = sphere.retract(raw / 3.7)
        z = sphere.retract(raw * 1.9)
        return y, sphere.log(y, z), sphere.exp(y, sphere.log(y, -z)), sphere.retract(y - y)

    y, none, opposite, anything = there_and_back(raw)
    assert_allclose(none, 0.0, atol=1e-14)
    assert_allclose(opposite, -y, atol=1e-7)
    assert_allclose(np.linalg.norm(anything, axis=1), 1.0)
    near = jnp.asarray([0.0, 1e-17, 1e-9, 1e-3])
    fused = jax.jit(lambda a: densities.rotations(jnp.full(4, 0.3), jnp.abs(a + 0.7 - 0.7)))(near)
    assert_allclose(fused, densities.rotations(0.3, np.asarray(near), np), rtol=1e-5)
    noising = OrnsteinUhlenbeck(White(), DEFAULT_SCHEDULE_1D)
    times = jr.uniform(jr.key(1), (500,))

    @jax.jit
    def same_time(times):
        x = times[:, None]
        return noise_further(noising, times, times * 3.0 / 3.0, x, x, None, key=jr.key(2))

    noisier = same_time(times)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(noisier))
    assert_allclose(noisier.weight, 0.0, atol=1e-12)


def awake(make, **options):
    """A network with random parameters: untrained its output is zero, whatever is compiled."""
    rng = np.random.default_rng(0)
    shapes = eqx.filter_eval_shape(make, key=jr.key(0), **options)
    return jax.tree.map(lambda leaf: jnp.asarray(0.3 * rng.normal(size=leaf.shape)), shapes)


def check_compiled_networks() -> None:
    """In float32, at as many points as a user has, against float64: all that is compiled.

    A plain call, and what samplers and likelihoods compile: several samples at prepared points,
    some of which are padding, with derivatives.
    """
    x = {"plane": jr.uniform(jr.key(3), (600, 2), minval=-10.0, maxval=10.0)}
    x["sphere"] = jnp.asarray(fibonacci(600))
    options = {"channels": 8, "width": 16, "num_layers": 1, "angular_pooling": True}
    options |= {"num_pooling_widths": 2, "dtype": "float64"}
    nets = {"plane": awake(Steerable2, **options)}
    nets["sphere"] = awake(SteerableSphere, axial=True, **options)
    t, mask = jnp.full(600, 0.2), (jnp.arange(600) < 550).astype(float)
    values, tangents = jr.normal(jr.key(5), (2, 2, 600, 2))

    def everything(net, x, t, mask, values, tangents):
        prepared = net.prepare(x, mask)

        def with_derivative(y, tangent):
            call = functools.partial(net.call_prepared, prepared, t, x)
            return jax.jvp(lambda y: call(y, mask), (y,), (tangent,))

        return net(t, x, values[0]), *jax.vmap(with_derivative)(values, tangents)

    for surface, net in nets.items():
        args = (net, x[surface], t, mask, values, tangents)
        single = jax.tree.map(lambda leaf: leaf.astype("float32"), args)
        for found, expected in zip(
            jax.jit(everything)(*single), jax.jit(everything)(*args), strict=True
        ):
            scale = float(jnp.max(jnp.abs(expected)))
            assert scale > 0.01
            assert_allclose(found / scale, expected / scale, atol=2e-4)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    check_compiled_networks()
    check_covariances_and_log_densities()
    check_quotients_of_zero()
    check_a_sampler()
