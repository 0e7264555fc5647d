"""Mixture of exact laws: Bayes' rule over components."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from numpy.testing import assert_allclose

from geomndp.baselines.exact_laws import MixtureLaw, SawtoothLaw, exact_law
from geomndp.data import NAMES, SUITES, Mixture, regression1d
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White

SMOOTH, ROUGH = GP(SquaredExponential(0.5), noise=0.01), GP(White(4.0), noise=0.01)
X = jnp.asarray([[-1.0], [-0.9], [0.1], [0.2]])


def test_density_is_the_average_over_whole_functions():
    mixture = MixtureLaw((SMOOTH, ROUGH))
    y = SMOOTH.sample(X, key=jr.key(0))
    whole = mixture.condition(X[:0], y[:0]).log_prob(X, y)
    members = jnp.stack([gp.log_prob(X, y) for gp in (SMOOTH, ROUGH)])
    assert_allclose(whole, logsumexp(members) - np.log(2), rtol=1e-10)
    part = mixture.condition(X[:2], y[:2])
    seen = mixture.condition(X[:0], y[:0]).log_prob(X[:2], y[:2])
    assert_allclose(part.log_prob(X[2:], y[2:]), whole - seen, rtol=1e-8)
    masked = mixture.condition(X[:3], y[:3], mask=jnp.asarray([1.0, 1.0, 0.0]))
    assert_allclose(masked.log_prob(X[2:], y[2:]), whole - seen, rtol=1e-6)


def test_samples_follow_the_weights():
    far = GP(White(0.01), mean=lambda x: jnp.full_like(x, 10.0))
    law = MixtureLaw((SMOOTH, far)).condition(X[:0], X[:0])
    samples = jax.jit(lambda key: law.sample(X[:1], key=key, num_samples=800))(jr.key(1))
    assert abs(np.mean(np.asarray(samples) > 5) - 0.5) < 5 * 0.5 / np.sqrt(800)
    given = MixtureLaw((SMOOTH, far)).condition(X[:1], jnp.full((1, 1), 10.0))
    assert_allclose(jnp.exp(given.log_weights), [0, 1], atol=1e-6)


def test_laws_are_known_where_there_is_noise():
    known = {(s, n) for s in SUITES for n in NAMES if exact_law(regression1d(s, n).process)}
    gaussian = {(s, n) for s in SUITES for n in NAMES[:3]}
    assert known == gaussian | {("gnp2020", "sawtooth"), ("gnp2020", "mixture")}
    mixture = exact_law(regression1d("gnp2020", "mixture").process)
    assert [type(member) for member in mixture.members] == [GP] * 4 + [SawtoothLaw]
    process = regression1d("paper", "se").process
    assert exact_law(Mixture(process, process)).members == (process.gp, process.gp)
