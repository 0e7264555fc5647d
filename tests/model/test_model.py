"""The public calls against the Gaussian process, and what they refuse."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp import Model
from geomndp._validation import as_key
from geomndp.data import Normaliser
from geomndp.likelihood import Flow
from geomndp.model import log_prob, sample_options
from geomndp.model.inputs import check_request
from geomndp.samplers import Amortised, Langevin, MomentMatching, RePaint
from geomndp.score import GaussianScore


def test_log_prob_is_that_of_the_process(exact, gp, function):
    x, y = function
    info = exact.log_prob_info(x, y, flow=Flow(terminal="exact", steps=32))
    assert_allclose(info.value, gp.log_prob(x, y), atol=1e-3 * len(x))
    assert float(info.solver_error) < 1e-3 and float(info.probe_error) == 0
    assert_allclose(exact.log_prob(x, y), gp.log_prob(x, y), atol=5e-3 * len(x))


def test_a_key_asks_for_probes_and_none_for_the_exact_divergence(exact, function):
    """Within the errors they state both are one density; only probes have an error of their own."""
    x, y = function
    sure, probed = (exact.log_prob_info(x, y, key=key) for key in (None, jr.key(0)))
    assert float(sure.probe_error) == 0 < float(probed.probe_error)
    assert_allclose(probed.value, sure.value, atol=5 * float(probed.probe_error))


@pytest.mark.parametrize("route", ["conditional", "joint"])
def test_conditional_log_prob_by_both_routes(exact, gp, function, route):
    x, y = function
    posterior = exact.condition(x[:3], y[:3])
    truth = gp.condition(x[:3], y[:3]).log_prob(x[3:], y[3:])
    assert_allclose(posterior.log_prob(x[3:], y[3:], route=route), truth, atol=0.03)


def test_noisy_context_is_that_of_the_process(exact, gp, function):
    x, y = function
    noise = jnp.asarray([0.1, 0.02, 0.3])
    posterior = exact.condition(x[:3], y[:3], noise=noise)
    truth = gp.condition(x[:3], y[:3], noise=noise)
    assert_allclose(posterior.log_prob(x[3:], y[3:]), truth.log_prob(x[3:], y[3:]), atol=0.03)
    samples = posterior.sample(x[3:], key=jr.key(0), num_samples=2000)
    mean, covariance = truth.mean_and_covariance(x[3:])
    error = 5 * jnp.sqrt(jnp.diag(covariance) / 2000)
    assert jnp.all(jnp.abs(jnp.mean(samples, axis=0) - mean)[:, 0] < error)


def test_empty_context_is_the_model_itself(exact, function):
    x, y = function
    empty = exact.condition(x[:0], y[:0])
    assert_allclose(empty.log_prob(x, y), exact.log_prob(x, y), atol=1e-12)
    same = exact.sample(x, key=jr.key(1), num_samples=2)
    assert_allclose(empty.sample(x, key=jr.key(1), num_samples=2), same, atol=1e-12)


def test_one_target_and_repeated_inputs(exact, function):
    x, y = function
    twice = jnp.concatenate([x[:2], x[:2]])
    posterior = exact.condition(twice, jnp.concatenate([y[:2], y[:2] + 0.05]))
    assert posterior.sample(x[:1], key=jr.key(0), num_samples=3).shape == (3, 1, 1)
    assert jnp.isfinite(posterior.log_prob(x[:1], y[:1]))


def test_normaliser_changes_units_and_density(exact, function):
    x, y = function
    units = Normaliser(x_shift=3.0, x_scale=2.0, y_shift=-1.0, y_scale=10.0)
    scaled = dataclasses.replace(exact, normaliser=units)
    big_x, big_y = units.inverse_x(x), units.inverse_y(y)
    jacobian = -len(x) * np.log(10.0)
    assert_allclose(scaled.log_prob(big_x, big_y), exact.log_prob(x, y) + jacobian, atol=1e-9)
    plain = exact.condition(x[:2], y[:2], noise=0.1).sample(x, key=jr.key(5), num_samples=2)
    changed = scaled.condition(big_x[:2], big_y[:2], noise=10.0)
    assert_allclose(
        changed.sample(big_x, key=jr.key(5), num_samples=2), units.inverse_y(plain), atol=1e-9
    )


def test_mask_leaves_rows_out(exact, function):
    x, y = function
    mask = jnp.asarray([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    keep = np.flatnonzero(mask)
    garbage = y.at[2].set(jnp.nan)
    assert_allclose(exact.log_prob(x, garbage, mask=mask), exact.log_prob(x[keep], y[keep]))


def test_default_sampler_follows_what_the_score_knows(exact, learnt, function):
    x, y = function
    assert isinstance(exact.condition(x, y).default_sampler(), Amortised)
    joint_only = dataclasses.replace(
        learnt, score=dataclasses.replace(learnt.score, conditional=False)
    )
    posterior = joint_only.condition(x[:2], y[:2])
    assert isinstance(posterior.default_sampler(), MomentMatching)
    assert posterior.sample(x, key=jr.key(0), num_samples=2).shape == (2, 6, 1)
    with pytest.raises(ValueError, match="trained with contexts"):
        posterior.sample(x, key=jr.key(0), sampler=Amortised())
    with pytest.raises(ValueError, match="trained with contexts"):
        posterior.log_prob(x, y, route="conditional")


def test_one_compilation_a_shape(exact, function, monkeypatch):
    x, y = function
    traces = []
    call = GaussianScore.__call__

    def counted(self, *arguments):
        traces.append(1)
        return call(self, *arguments)

    monkeypatch.setattr(GaussianScore, "__call__", counted)
    for draw in range(3):
        posterior = exact.condition(x[:2] + draw, y[:2] - draw)
        posterior.sample(x, key=jr.key(draw), num_samples=4)
        posterior.log_prob(x, y)
        exact.log_prob(x + draw, y)
        if draw == 0:
            first = len(traces)
    assert len(traces) == first > 0


def test_same_key_same_bits(exact, function):
    x, y = function
    posterior = exact.condition(x[:2], y[:2])
    one, two = (posterior.sample(x, key=jr.key(7), num_samples=3) for _ in range(2))
    assert jnp.array_equal(one, two)
    assert not jnp.array_equal(one, posterior.sample(x, key=jr.key(8), num_samples=3))


def test_follows_the_dtype_of_the_input(exact, function):
    x, y = (value.astype(jnp.float32) for value in function)
    posterior = exact.condition(x[:2], y[:2])
    assert posterior.sample(x, key=jr.key(0), num_samples=2).dtype == jnp.float32
    assert posterior.log_prob(x, y).dtype == jnp.float32
    assert posterior.sample(x, key=jr.key(0), sampler=Langevin(3, 2)).dtype == jnp.float32


def test_nan_is_an_error_that_says_when(learnt, function):
    x, y = function
    weights = eqx.filter(learnt.score.net, eqx.is_array)
    broken = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), weights)
    net = eqx.combine(broken, learnt.score.net)
    model = Model(learnt.noising, dataclasses.replace(learnt.score, net=net))
    with pytest.raises(FloatingPointError, match=r"step 1 of \d+ \(time"):
        model.sample(x, key=jr.key(0))
    with pytest.raises(FloatingPointError, match="log-density became nan"):
        model.log_prob(x, y)


def test_functional_log_prob_is_the_public_one(exact, function):
    x, y = function
    problem = exact.condition(x[:2], y[:2]).problem(x[2:])
    value = log_prob(Flow(), problem, y[2:], None, None, "conditional").value
    assert_allclose(value, exact.condition(x[:2], y[:2]).log_prob(x[2:], y[2:]), atol=1e-12)


BAD = {
    "rank": (lambda m, x, y: m.condition(x[None], y), r"shape \(n, d\), got shape \(1, 6, 1\)"),
    "size": (lambda m, x, y: m.condition(x, y[:3]), r"shape \(6, 1\), got shape \(3, 1\)"),
    "nan": (lambda m, x, y: m.condition(x, y.at[4].set(jnp.nan)), "rows 4"),
    "infinite x": (lambda m, x, y: m.condition(x.at[1].set(jnp.inf), y), "rows 1"),
    "noise": (lambda m, x, y: m.condition(x, y, noise=-1.0), "noise >= 0"),
    "noise shape": (lambda m, x, y: m.condition(x, y, noise=jnp.ones(2)), "one variance or 6"),
    "huge noise": (
        lambda m, x, y: m.condition(x, y, noise=1e6).sample(x, key=jr.key(0), sampler=Amortised()),
        "noise at most",
    ),
    "huge noise of a density": (
        lambda m, x, y: m.condition(x, y, noise=1e6).log_prob(x, y),
        "noise at most",
    ),
    "joint noise": (
        lambda m, x, y: m.condition(x, y, noise=0.1).log_prob(x, y, route="joint"),
        "without noise",
    ),
    "repaint noise": (
        lambda m, x, y: m.condition(x, y, noise=0.1).sample(x, key=jr.key(0), sampler=RePaint()),
        "without noise for RePaint",
    ),
    "count": (lambda m, x, y: m.sample(x, key=jr.key(0), num_samples=0), "num_samples"),
    "count is a bool": (lambda m, x, y: m.sample(x, key=0, num_samples=True), "num_samples"),
    "route": (lambda m, x, y: m.condition(x, y).log_prob(x, y, route="both"), "'conditional'"),
    "columns": (
        lambda m, x, y: m.condition(x, y).sample(jnp.ones((3, 2)), key=jr.key(0)),
        "1 columns",
    ),
    "no values": (lambda m, x, y: m.log_prob(x), "expected numbers for y, got none"),
    "sampler": (lambda m, x, y: check_request(1, "flow", jr.key(0)), "such as Amortised"),
    "key": (lambda m, x, y: as_key("0"), r"jax.random.key\(0\), or a seed, got '0'"),
    "seed": (lambda m, x, y: m.sample(x, key=-1), r"seed from 0 to 2\*\*32 - 1, got -1"),
    "words": (lambda m, x, y: m.condition([["a"]], y), "expected numbers for x"),
    "t_min": (lambda m, x, y: Model(m.noising, m.score, t_min=0.0), "0 < t_min < 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_words(case, exact, function):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call(exact, *function)


@pytest.mark.parametrize("many", [10**12, 2**31])
def test_samples_that_no_memory_holds_are_refused_at_once(many, exact, gp, function, monkeypatch):
    """Drawing them would take days, and end when the memory does."""
    monkeypatch.setattr(sample_options, "free_bytes", lambda: 2**30)
    process = gn.ProcessModel(gp)
    for law in (exact, process, gn.MixtureProcess((exact, process))):
        for posterior in (law, law.condition(*function)):
            with pytest.raises(MemoryError, match=r"fewer samples than .* GiB \(free: 1 GiB\)"):
                posterior.sample(function[0], key=0, num_samples=many)


def test_no_targets_are_no_samples_and_a_density_of_one(exact, function):
    """Nothing is asked for, and nothing comes back."""
    posterior, nothing = exact.condition(*function), jnp.zeros((0, 1))
    assert posterior.sample(nothing, key=0, num_samples=3).shape == (3, 0, 1)
    assert posterior.log_prob(nothing, nothing) == 0.0


def test_numbers_of_other_precisions(exact, function):
    """Halves and long doubles are computed in JAX's own floats."""
    x, y = map(np.asarray, function)
    for odd in (y.astype(np.longdouble), y.astype(np.float16), jnp.asarray(y, jnp.bfloat16)):
        assert exact.condition(x, odd).observations.y.dtype == x.dtype


def test_numbers_in_another_byte_order(exact, function):
    """Those of old NetCDF files, which JAX itself does not take."""
    x, y = (np.asarray(value, "f8") for value in function)
    noise, mask = np.linspace(0.1, 0.2, len(x)), np.ones(len(x))
    answers = [
        exact.condition(*map(order, (x, y)), noise=order(noise), mask=order(mask)).log_prob(
            order(x[:2] + 0.1), order(y[:2]), mask=order(mask[:2])
        )
        for order in (lambda v: v.astype(">f8"), lambda v: v.astype("<f8"))
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, x: m.condition([[0.0], [1.0, 2.0]], x), "expected rows of one length"),
        (lambda m, x: m.condition(x, x, noise="a"), "expected noise >= 0, got 'a'"),
        (lambda m, x: m.condition(0.0, np.ma.masked_all((2, 1))), "expected x of the context"),
        (lambda m, x: as_key(jr.split(jr.key(0))), "expected one key, got an array of key"),
        (lambda m, x: as_key(jnp.zeros(2)), "expected one key, got an array of float"),
    ],
)
def test_odd_arguments_are_refused(exact, call, message):
    """Those whose types are annotated are refused too: see tests/test_fuzz.py."""
    with pytest.raises(ValueError, match=message):
        call(exact, jnp.zeros((2, 1)))
