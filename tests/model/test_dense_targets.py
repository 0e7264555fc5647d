"""More targets than a network saw points: drawn in rounds, each value with its own law."""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import geomndp as gn
from geomndp import OutsideTrainingWarning
from geomndp.experiments.regression1d.training import problem_for
from geomndp.geometry import Sphere
from geomndp.model import TrainingSupport
from geomndp.model.dense_targets import _draw, sample_in_rounds
from geomndp.model.patch_laws import ScoreLaw
from geomndp.model.patchwise import end_rows
from geomndp.model.target_rounds import farthest_points, rounds
from geomndp.nets import BiDimensionalAttention, RelativeAttention, SphericalAttention, Steerable2
from geomndp.noising import Brownian, LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore, NetworkScore, PreconditionK

NOISING = OrnsteinUhlenbeck(gn.kernels.White(1.0), LinearSchedule(0.0, 10.0))
SUPPORT = TrainingSupport(((0.0, 2.0),), ((-3.0, 3.0),), (2.0,), 0.01, 12, 6, (0.0, 100.0))
SAMPLER = gn.samplers.Amortised(2)
X = np.linspace(0.0, 2.0, 40)[:, None]


@pytest.fixture(scope="module")
def learnt():
    net = RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    return gn.Model(NOISING, NetworkScore(net, conditional=True), support=SUPPORT)


@pytest.mark.parametrize("n", [13, 40, 301])
@pytest.mark.parametrize("m", [0, 5, 30])
@pytest.mark.parametrize("dim", [1, 2])
def test_rounds_part_the_targets_and_keep_every_pass_small(n, m, dim):
    x = np.asarray(jr.normal(jr.key(n), (n, dim)))
    plan = rounds(x, x[:m] + 0.01, 12)
    assert_array_equal(np.sort(np.concatenate([plan.first, *plan.groups])), np.arange(n))
    assert max(map(len, plan.groups)) <= plan.size == 3
    assert len(plan.first) == (4 if m else 9)
    assert m + len(plan.first) + plan.size <= max(12, m + 7)


def test_first_targets_lie_far_from_observations_and_from_each_other():
    rows = farthest_points(X, X[:20], 3)
    assert_array_equal(rows, [39, 29, 24])


def test_groups_spread_over_the_inputs():
    plan = rounds(X, X[:0], 12)
    for group in plan.groups:
        assert len(group) < 3 or np.diff(X[group, 0]).min() > 0.4


def test_targets_at_one_position_are_of_one_group():
    x = np.repeat(X, 3, axis=0)[:-1]
    plan = rounds(x, X[:1], 12)
    for group in plan.groups:
        others = np.setdiff1d(np.concatenate(plan.groups), group)
        assert not np.intersect1d(x[group], x[others]).size
    assert max(map(len, plan.groups)) <= plan.size <= 6


def test_values_have_the_exact_law_given_observations():
    gp = gn.gp.GP(gn.kernels.SquaredExponential(0.5), noise=0.01)
    model = gn.Model(NOISING, GaussianScore(gp))
    xc, yc = jnp.asarray([[0.2], [1.3]]), jnp.asarray([[1.0], [-0.5]])
    posterior, exact = model.condition(xc, yc), gp.condition(xc, yc)
    law = ScoreLaw(posterior, end_rows(X), sampler=gn.samplers.adams(24))
    plan = rounds(X, np.asarray(xc), 24)  # first ones are a quarter of a lengthscale apart
    y = _draw(law, X, plan, jr.key(0), 400, lambda done: None)[..., 0]
    mean, covariance = (np.asarray(part) for part in exact.mean_and_covariance(jnp.asarray(X)))
    std = np.sqrt(np.diag(covariance))
    assert np.abs((y.mean(0) - mean[:, 0]) / std).max() < 5 / 400**0.5
    assert_allclose(y.std(0) / std, 1.0, atol=5 / 800**0.5)
    found = np.cov(y.T) / np.outer(std, std)
    near = np.abs(X - X.T) < 0.2  # of one function, not of independent ones
    assert_allclose(found[near].mean(), (covariance / np.outer(std, std))[near].mean(), atol=0.03)


def test_a_request_of_many_targets_is_drawn_in_rounds_without_a_warning(learnt):
    posterior = learnt.condition([0.5], [0.1])
    y = posterior.sample(X, key=3, num_samples=3, sampler=SAMPLER)
    assert y.shape == (3, 40, 1) and bool(jnp.all(jnp.isfinite(y)))
    assert_allclose(y[:2], posterior.sample(X, key=3, num_samples=2, sampler=SAMPLER), atol=1e-9)
    with pytest.warns(OutsideTrainingWarning, match=r"41 points \(trained on up to 12\)"):
        one_pass = posterior.sample_info(X, key=3, num_samples=2, sampler=SAMPLER).y
    assert float(jnp.abs(one_pass - y[:2]).max()) > 1e-3
    done = []
    posterior.sample(X, key=3, num_samples=3, sampler=SAMPLER, progress=done.append)
    assert done[-1] == 3


def test_the_prior_is_drawn_in_rounds_too(learnt):
    y = learnt.sample(X, key=3, num_samples=2, sampler=SAMPLER)
    assert y.shape == (2, 40, 1) and bool(jnp.all(jnp.isfinite(y)))


def test_few_targets_beside_many_observations_warn(learnt):
    posterior = learnt.condition(X, np.zeros(40))
    with pytest.warns(OutsideTrainingWarning, match=r"42 points \(trained on up to 12\)"):
        y = posterior.sample(X[:2] + 0.01, key=3, num_samples=2, sampler=SAMPLER)
    assert y.shape == (2, 2, 1)
    assert posterior.sample(X[:0], key=3, num_samples=2, sampler=SAMPLER).shape == (2, 0, 1)


def test_a_single_target_whose_position_was_never_seen_warns():
    net = BiDimensionalAttention(1, 1, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    model = gn.Model(NOISING, NetworkScore(net, conditional=True), support=SUPPORT)
    with pytest.warns(OutsideTrainingWarning, match=r"x = 3 \(trained on 0 to 2\)"):
        model.sample(np.append(X, 3.0), key=3, num_samples=1, sampler=SAMPLER)


@pytest.mark.parametrize("bad", [0, 1], ids=["first", "groups"])
def test_values_that_become_nan_are_an_error(bad, learnt, monkeypatch):
    calls = []

    def draw_batch(law, requests, batch):
        calls.append(len(requests))
        value = np.nan if len(calls) > bad else 0.0
        return [np.full((len(r.keys), len(r.x), 1), value) for r in requests]

    monkeypatch.setattr(ScoreLaw, "draw_batch", draw_batch)
    with pytest.raises(FloatingPointError, match="the sampled values became NaN or infinite"):
        learnt.sample(X, key=3, num_samples=1, sampler=SAMPLER)
    assert calls == [1, 11][: bad + 1]


def test_shifts_of_all_points_change_nothing(learnt):
    posterior, moved = learnt.condition([0.5], [0.1]), learnt.condition([7.5], [0.1])
    samples = [
        law.sample(x, key=3, num_samples=1, sampler=SAMPLER)
        for law, x in ((posterior, X), (moved, X + 7.0))
    ]
    assert_allclose(*samples, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: (p, X[:15], {}),
        lambda p: (p, X, {"mask": np.ones(40)}),
        lambda p: (p, 9.0 * X, {}),
        lambda p: (p.model.condition(X, np.zeros(40)), X[:30] + 0.01, {}),
        lambda p: (dataclasses.replace(p, model=dataclasses.replace(p.model, support=None)), X, {}),
    ],
    ids=["few", "masked", "wide", "many observations", "no record"],
)
def test_other_requests_are_drawn_in_one_pass(change, learnt):
    posterior, x, options = change(learnt.condition([0.5], [0.1]))
    assert sample_in_rounds(posterior, x, key=0, **options) is None


def test_networks_without_attention_take_more_points_at_once():
    small = {"channels": 4, "width": 8, "num_layers": 1, "key": jr.key(0)}
    pooled, attending = Steerable2(num_pooling_widths=2, **small), Steerable2(num_heads=2, **small)
    noising = OrnsteinUhlenbeck(gn.kernels.Diagonal(gn.kernels.White(), 2), NOISING.schedule)
    ends = ((0.0, 2.0),) * 2
    support = TrainingSupport(ends, ((-3.0, 3.0),) * 2, (2.0, 2.0), 0.01, 12, 6)
    x, found = np.asarray(jr.uniform(jr.key(1), (40, 2))) * 2, []
    for net in (pooled, attending):
        model = gn.Model(noising, NetworkScore(net, conditional=True), support=support)
        found.append(sample_in_rounds(model.condition(), x, key=0, sampler=SAMPLER, num_samples=1))
        with warnings.catch_warnings():
            warnings.simplefilter("error", OutsideTrainingWarning)
            model.sample(x, key=0, sampler=SAMPLER, num_samples=1)
    assert found[0] is None and found[1].shape == (1, 40, 2)


def test_inside_of_jit_all_is_one_pass_which_warns(learnt):
    posterior = learnt.condition([0.5], [0.1])
    draw = jax.jit(lambda x: posterior.sample(x, key=jr.key(0), num_samples=1, sampler=SAMPLER))
    with pytest.warns(OutsideTrainingWarning, match=r"41 points \(trained on up to 12\)"):
        assert draw(jnp.asarray(X)).shape == (1, 40, 1)


def test_inputs_that_low_precision_merges_are_refused_before_rounds(learnt):
    with pytest.raises(ValueError, match="expected inputs whose spacing float16 can hold"):
        learnt.sample(np.float16(1000 + X), key=0, sampler=SAMPLER)
    with pytest.raises(ValueError, match="expected inputs whose spacing float32 can hold"):
        learnt.sample(np.float32(1e6 + X), key=0, sampler=SAMPLER, patches="auto")


def test_drawn_values_that_rounding_put_on_the_end_of_a_transform_are_context(learnt):
    units = gn.data.Normaliser(transform=gn.data.Logit(0.0, 1.0))
    model = dataclasses.replace(learnt, normaliser=units)
    law = ScoreLaw(model.condition([0.5], [0.5]), end_rows(X), sampler=SAMPLER)
    y = np.asarray([[0.0], [0.25], [1.0]], np.float32)
    found = law.in_model_units(y)
    assert_allclose(found[1], np.log(1 / 3), rtol=1e-6)
    assert_allclose(found[2], np.log(2**24 - 1), rtol=1e-6)
    assert found[0] < -80 and y[2, 0] == 1.0
    with pytest.raises(FloatingPointError, match="left the domain"):
        law.in_model_units(np.asarray([[np.nan]], np.float32))


def test_what_is_no_sampler_is_refused_before_rounds(learnt):
    with pytest.raises(ValueError, match=r"expected a sampler such as Amortised\(50\), got 'ode'"):
        learnt.sample(X, key=0, sampler="ode")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["se", "matern"])
def test_intervals_of_a_shipped_model_do_not_depend_on_the_number_of_targets(name):
    model, x = gn.load(f"regression1d/{name}"), np.linspace(-2, 2, 240)[:, None]
    gp = problem_for(f"regression1d/{name}").exact()
    xc = jnp.asarray([[-1.0], [0.3], [1.2]])
    yc = gp.sample(xc, key=jr.key(3))
    exact = np.sqrt(np.diag(gp.condition(xc, yc).mean_and_covariance(jnp.asarray(x))[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutsideTrainingWarning)
        y = model.condition(xc, yc).sample(x, key=0, num_samples=64)
    # One pass has 0.76 of the spread.
    assert np.asarray(y).std(0)[:, 0].mean() / exact.mean() == pytest.approx(1.0, abs=0.06)


def test_tasks_of_many_targets_are_drawn_in_rounds_too(learnt):
    tasks = [(np.asarray([[0.5]]), np.asarray([[0.1]]), X)] * 2
    with pytest.warns(UserWarning, match="tasks of more points than in training are asked one"):
        (_, first), _ = learnt.condition_many(tasks).sample(key=3, num_samples=2, sampler=SAMPLER)
    own = learnt.condition([0.5], [0.1])
    expected = own.sample(X, key=jr.fold_in(jr.key(3), 0), num_samples=2, sampler=SAMPLER)
    assert_allclose(first, expected, atol=1e-6)


def test_tracks_on_the_sphere():
    support = TrainingSupport(((0.0, 2.0),), ((-1.0, 1.0),) * 3, (2.0,), 0.1, 12, 6, (0.0, 0.1))
    net = SphericalAttention(width=8, num_layers=1, num_heads=2, key=jr.key(0))
    noising = Brownian(Sphere(2), LinearSchedule(1e-4, 5.0))
    score = NetworkScore(net, PreconditionK(), conditional=True)
    model = gn.Model(noising, score, support=support)
    posterior = model.condition([[0.5]], [[0.0, 0.6, 0.8]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutsideTrainingWarning)
        y = posterior.sample(X, key=0, num_samples=2, sampler=SAMPLER)
    assert y.shape == (2, 40, 3)
    assert_allclose(np.linalg.norm(y, axis=-1), 1.0, atol=1e-6)
