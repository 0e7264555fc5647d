"""A network that corrects a Gaussian process: untrained it is that process."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import nets
from geomndp._types import Batch
from geomndp.data import ResampledGenerator
from geomndp.evaluate.log_likelihood import log_likelihood
from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, SquaredExponential, White
from geomndp.model import Model
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import PARAMETRISATIONS, GaussianScore, NetworkScore
from geomndp.score.corrected import in_float64
from geomndp.train import DenoisingLoss, adam, fit_score

from ..cases import DATA, HURRY, N, compilations, inputs, normal, ou, perturbed, random, rotation

KEY = jr.key(0)
SIZES = {"width": 8, "num_layers": 1, "num_heads": 2}
NOISING = ou("white", mean=None)


class Table(eqx.Module):
    """A mean function that holds an array."""

    levels: jax.Array

    def __call__(self, x):
        return self.levels[0].astype(x.dtype) * jnp.ones_like(x[:, :1])


def network(**options):
    return NetworkScore(nets.RelativeAttention(2, 1, **SIZES, key=KEY), **options)


def times(key):
    t = random(key).uniform(1e-3, 1.0, N)
    t[1] = 0.0
    return jnp.asarray(t)


@eqx.filter_jit(compiler_options=HURRY)
def evaluate(score, noising, *args):
    return score(noising, *args)


def awake(score, key):
    """The score with an output that is not zero."""
    return dataclasses.replace(score, net=perturbed(score.net, 0.3, key=key))


slow = pytest.mark.slow
CASES = [("velocity", "white"), ("velocity", "nugget"), ("K", "white"), ("data", "white")]
OTHERS = [(name, limit) for name in PARAMETRISATIONS for limit in ("white", "nugget")]
OTHERS = [pytest.param(*case, marks=slow) for case in OTHERS if case not in CASES]


@pytest.mark.parametrize(("name", "limit"), CASES + OTHERS)
def test_untrained_it_is_the_process(name, limit, getkey):
    gp, noising = DATA["matern-mean"], ou(limit)
    score = network(parametrisation=PARAMETRISATIONS[name]()).with_base(gp, key=KEY)
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(getkey())
    t = t if name in ("K", "velocity", "data") else t.at[1].set(0.3)
    expected = evaluate(GaussianScore(gp), noising, t, x, y)
    assert_allclose(evaluate(score, noising, t, x, y), expected, atol=1e-7)


@pytest.mark.parametrize(
    "net",
    [
        nets.BiDimensionalAttention(2, 2, **SIZES, key=KEY),
        nets.BiDimensionalAttention(2, 2, **SIZES, token_axis="points", key=KEY),
        nets.Steerable2(("vector",), width=8, channels=4, num_layers=1, key=KEY),
    ],
    ids=["dims", "points", "steerable"],
)
def test_every_network_that_takes_two_fields(net, getkey):
    gp = GP(CurlFree(0.8), noise=0.01)
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), LinearSchedule(0.0, 10.0))
    score = NetworkScore(net).with_base(gp, key=KEY)
    x, y, t = inputs(N, key=getkey()), normal(N, 2, key=getkey()), times(getkey())
    expected = evaluate(GaussianScore(gp), noising, t, x, y)
    assert_allclose(evaluate(score, noising, t, x, y), expected, atol=1e-8)
    changed = evaluate(awake(score, getkey()), noising, t, x, y) - expected
    assert float(jnp.max(jnp.abs(changed[2:]))) > 1e-3


def test_a_corrected_field_turns_with_its_inputs(getkey):
    net = nets.Steerable2(("vector",), width=8, channels=4, num_layers=1, key=KEY)
    score = awake(NetworkScore(net).with_base(GP(CurlFree(0.8), noise=0.01), key=KEY), getkey())
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), LinearSchedule(0.0, 10.0))
    x, y, t = inputs(N, key=getkey()), normal(N, 2, key=getkey()), times(getkey())
    turn = rotation(2, key=getkey(), reflect=True)
    plain, moved = (evaluate(score, noising, t, *v) for v in ((x, y), (x @ turn.T, y @ turn.T)))
    assert_allclose(moved, plain @ turn.T, atol=1e-8)


def test_masked_rows_change_nothing(getkey):
    score = awake(network().with_base(DATA["matern-mean"], key=KEY), getkey())
    assert score.pads
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(getkey())
    mask = jnp.asarray([1.0, 1.0, 1.0, 0.0, 0.0])
    plain = evaluate(score, NOISING, t[:3], x[:3], y[:3])
    dirty = evaluate(score, NOISING, t, x, y.at[3:].set(jnp.nan), mask)
    assert_allclose(dirty[:3], plain, atol=1e-10)
    assert_array_equal(dirty[3:], 0.0)


def test_the_network_sees_the_residual_and_the_score(getkey):
    gp, noising = DATA["matern-mean"], ou("white")
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(getkey())
    values = network().with_base(gp, key=KEY).net_inputs(noising, t, x, y)[2]
    mean, _ = GaussianScore(gp).law(noising, t, x)
    scale = np.sqrt(1.3)
    assert_allclose(values[:, :1], (y - mean) / scale, atol=1e-12)
    assert_allclose(values[:, 1:], GaussianScore(gp)(noising, t, x, y) / scale, atol=1e-9)


def test_float32_has_the_accuracy_of_float64(getkey):
    """Smooth, almost noise-free data near time zero: condition numbers beyond float32."""
    gp, n = GP(SquaredExponential(1.0), noise=1e-6), 40
    x = jnp.linspace(-2.0, 2.0, n)[:, None]
    t = jnp.full(n, 2e-3)
    noised = GaussianScore(gp).law(NOISING, t, x)[1]
    y = noised.cholesky_mv(jr.normal(getkey(), (n, 1)))
    exact = GaussianScore(gp)(NOISING, t, x, y)
    t32, x32, y32 = (v.astype(jnp.float32) for v in (t, x, y))
    with jax.enable_x64(False):
        found = jax.jit(lambda *args: in_float64(GaussianScore(gp), NOISING, *args))(t32, x32, y32)
    assert found.dtype == jnp.float32
    size = float(jnp.max(jnp.abs(exact)))
    # What remains is the rounding of y itself, which the solve amplifies.
    rounded = GaussianScore(gp)(NOISING, t, x32.astype(jnp.float64), y32.astype(jnp.float64))
    assert float(jnp.max(jnp.abs(found.astype(jnp.float64) - rounded))) < 1e-5 * size


@pytest.fixture(scope="module")
def functions():
    """Functions of a process, in float32."""
    gp, x = GP(SquaredExponential(0.5), noise=0.01), inputs(8, key=jr.key(1))
    y = eqx.filter_jit(gp.sample)(x, key=jr.key(2), num_samples=12)
    x = jnp.broadcast_to(x[None], (12, 8, 2))
    return gp, Batch(x, y, jnp.ones((12, 8)), jnp.zeros((12, 8)))


def test_the_process_is_not_trained(functions):
    gp = GP(SquaredExponential(0.5), Table(jnp.asarray([0.25])), noise=0.01)
    start = network().with_base(gp, key=KEY)
    generator = ResampledGenerator(functions=functions[1], batch_size=4)
    options = {"key": KEY, "optimiser": adam(4), "quiet": True, "chunk": 2}
    trained, _ = fit_score(start, NOISING, generator, steps=4, **options)
    assert_array_equal(trained.base.mean.levels, gp.mean.levels)
    assert trained.base.kernel == gp.kernel and trained.conditional
    assert float(jnp.max(jnp.abs(trained.net.head.weight))) > 0
    trainable = jax.tree.leaves(start.trainable)
    assert sum(trainable) == len(jax.tree.leaves(eqx.filter(start.net, eqx.is_inexact_array)))


def test_the_loss_of_an_untrained_network_is_the_exact_score_s(functions):
    gp, batch = functions
    score, loss = network().with_base(gp, key=KEY), DenoisingLoss()
    _, info = eqx.filter_jit(loss)(score, NOISING, batch, key=KEY)

    def exact(t, x, y0, key):
        noised = NOISING.perturb(t, x, y0, key=key)
        a, sigma = NOISING.alpha(t), NOISING.sigma(t)
        u = GaussianScore(gp)(NOISING, t, x, noised.y)
        velocity = -(u + sigma * noised.y) / a
        return jnp.mean((velocity - (a * noised.xi - sigma * y0)) ** 2)

    time_key, noise_key = jr.split(KEY)
    t, _ = loss.draw_times(NOISING, batch, key=time_key)
    expected = jax.jit(jax.vmap(exact))(t, batch.x, batch.y, jr.split(noise_key, len(t)))
    assert_allclose(info.losses, expected, rtol=1e-6)


def test_likelihoods_and_samples_are_those_of_the_process(functions):
    gp, batch = functions
    score = network(conditional=True).with_base(gp, key=KEY)
    model, exact = Model(NOISING, score), Model(NOISING, GaussianScore(gp))
    tasks = jax.tree.map(lambda v: v[:2], batch)
    found, reference = (
        log_likelihood(process, tasks, num_context=3, batch_size=2) for process in (model, exact)
    )
    assert_allclose(found.value, reference.value, atol=1e-5)
    posterior = [process.condition(batch.x[0, :3], batch.y[0, :3]) for process in (model, exact)]
    assert_allclose(found.value[0], _density(gp, batch), atol=0.05)
    draws = [
        law.sample(batch.x[0, 3:], key=KEY, num_samples=2, progress=False) for law in posterior
    ]
    assert_allclose(*draws, atol=1e-5)


def _density(gp, batch):
    posterior = gp.condition(batch.x[0, :3], batch.y[0, :3])
    return eqx.filter_jit(posterior.log_prob)(batch.x[0, 3:], batch.y[0, 3:])


@pytest.mark.slow
def test_training_on_functions_of_the_process_keeps_it():
    gp, key = GP(SquaredExponential(0.5), noise=0.05), jr.key(4)
    x = inputs(256 * 8, key=key).reshape(256, 8, 2)
    y = jax.vmap(lambda x, key: gp.sample(x, key=key))(x, jr.split(key, 256))
    functions = Batch(x, y, jnp.ones((256, 8)), jnp.zeros((256, 8)))
    generator = ResampledGenerator(functions=functions, batch_size=16)
    noising = OrnsteinUhlenbeck(White(1.05), LinearSchedule(0.0, 10.0))
    start = network().with_base(gp, key=KEY)
    options = {"key": KEY, "optimiser": adam(100, peak=3e-3), "ema_decay": 0.95, "quiet": True}
    trained, _ = fit_score(start, noising, generator, steps=100, **options)
    assert float(jnp.max(jnp.abs(trained.net.head.weight))) > 1e-3
    tasks = Batch(*(v[:8] for v in functions[:4]))
    found, exact = (
        log_likelihood(Model(noising, score), tasks, num_context=3, batch_size=8).per_target().value
        for score in (trained, GaussianScore(gp))
    )
    assert float(jnp.mean(found - exact)) > -0.02


def test_numbers_of_the_process_may_be_data(getkey):
    """Arrays in place of the plain numbers: another process of the same kind compiles nothing."""
    gp = DATA["se"]
    score = network().with_base(jax.tree.map(jnp.asarray, gp), key=KEY)
    x, y, t = inputs(N, key=getkey()), normal(N, 1, key=getkey()), times(getkey())
    assert_allclose(
        evaluate(score, NOISING, t, x, y), GaussianScore(gp)(NOISING, t, x, y), atol=1e-8
    )
    other = GP(SquaredExponential(0.9), noise=0.03)
    same_shape = dataclasses.replace(score, base=jax.tree.map(jnp.asarray, other))
    assert compilations(lambda: evaluate(same_shape, NOISING, t, x, y)) == 0
