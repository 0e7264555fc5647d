"""What training saw is kept, and requests that leave it are answered with a warning."""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import geomndp as gn
from geomndp import OutsideTrainingWarning
from geomndp.data import Batch, ContextSampler, GlobeGenerator, Normaliser, ResampledGenerator
from geomndp.geometry import Sphere
from geomndp.model import TrainingSupport, with_support
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.patchwise import patchwise_field
from geomndp.nets import BiDimensionalAttention, RelativeAttention, SphericalAttention, Steerable2
from geomndp.noising import Brownian, LinearSchedule, OrnsteinUhlenbeck
from geomndp.patches import MemoryValues
from geomndp.score import NetworkScore, PreconditionK
from geomndp.train import ContextNoiseLevels, DenoisingLoss

NOISING = OrnsteinUhlenbeck(gn.kernels.White(2.0), LinearSchedule(0.0, 10.0))
SUPPORT = TrainingSupport(((0.0, 10.0),), ((-1.0, 3.0),), (10.0,), 0.1, 20, 10, (1e-3, 1.0))
SIZES = {"width": 8, "num_layers": 1, "num_heads": 2}
SAMPLER = gn.samplers.Amortised(2)


@pytest.fixture(scope="module")
def relative():
    net = RelativeAttention(1, 1, **SIZES, key=jr.key(0))
    return gn.Model(NOISING, NetworkScore(net, conditional=True), support=SUPPORT)


@pytest.fixture(scope="module")
def absolute(relative):
    net = BiDimensionalAttention(1, 1, **SIZES, key=jr.key(0))
    return dataclasses.replace(relative, score=NetworkScore(net, conditional=True))


def column(*values) -> jax.Array:
    return jnp.asarray(values)[:, None]


def said(call, *args, **kwargs) -> list[str]:
    """Warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    assert {(w.category, w.filename) for w in caught} <= {(OutsideTrainingWarning, __file__)}
    return [str(w.message) for w in caught]


def test_values_far_outside_are_told_in_one_sentence(relative):
    x = column(1.0, 2.0)
    (message,) = said(relative.condition, x, column(0.0, 1000.0), noise=1e-9)
    assert "y = 1000 (trained on -1 to 3)" in message
    assert "noise of variance 1e-09 (trained on 0.001 to 1, and zero)" in message
    assert "\n" not in message
    assert not said(relative.condition, x, column(-2.9, 4.9))  # half the range to each side
    assert said(relative.condition, x, column(-3.1, 0.0))


NOISES = [(0.0, False), (1e-3, False), (1.9, False), (2.1, True), (4e-4, True), (6e-4, False)]


@pytest.mark.parametrize(("noise", "outside"), NOISES)
def test_noise_beyond_the_trained_range(noise, outside, relative):
    found = said(relative.condition, column(1.0), column(0.0), noise=noise)
    assert bool(found) == outside


def test_noisy_values_may_lie_farther_out(relative):
    """Trained on -1 to 3: 8 is far outside, but not for an observation whose noise has sd 1."""
    call = relative.condition, column(5.0), column(8.0)
    assert len(said(*call)) == 1
    assert said(*call, noise=1.0) == []


def test_positions_matter_to_networks_of_absolute_inputs_only(relative, absolute):
    for x, outside in ((-0.9, False), (10.9, False), (-1.1, True), (1e4, True)):
        assert bool(said(absolute.condition, column(x), column(0.0))) == outside
        assert not said(relative.condition, column(x), column(0.0))
    (message,) = said(absolute.condition(column(1.0), column(0.0)).sample, column(5.0, 40.0),
                      key=jr.key(0), num_samples=1, sampler=SAMPLER)  # fmt: skip
    assert "x = 40 (trained on 0 to 10)" in message


def test_a_patch_sees_the_observations_in_its_reach_alone(relative):
    posterior = relative.condition(jnp.arange(0.0, 200.0, 2.0)[:, None], jnp.zeros((100, 1)))
    x = np.linspace(0.0, 200.0, 400)[:, None]

    def ask(**scheme):
        arguments = posterior, x, 0, 1, gn.patches.Patches(**scheme), MemoryValues()
        return said(patchwise_field, *arguments)

    assert said(warn_about_targets, posterior, jnp.asarray(x))
    assert not ask(width=6.0, halo=3.0)
    message, *_ = ask(width=20.0, halo=10.0)
    assert "points over a range of" in message


def test_extent_number_and_spacing_of_all_points(relative):
    posterior = relative.condition(column(0.0), column(0.0))

    def ask(x):
        return said(warn_about_targets, posterior, x[:, None])

    assert not ask(jnp.zeros(0))
    (message,) = ask(jnp.asarray([21.0]))  # from the context on
    assert "points over a range of 21 (trained on up to 10)" in message
    (message,) = ask(jnp.linspace(0.0, 0.2, 20))
    assert "points 10 times as close" in message
    (message,) = ask(jnp.linspace(0.0, 10.0, 40))
    assert "41 points (trained on up to 20)" in message
    assert not ask(jnp.linspace(0.0, 10.0, 28))
    assert not ask(jnp.zeros(14))  # repeated points are not close ones
    (message,) = ask(jnp.zeros(28))  # but more of them than in training are a crowd
    assert "16 points 1000 times as close together as the closest in training" in message


def test_a_cluster_beside_other_points_is_a_crowd(relative):
    """Of 20 points over a range of 10, 16 lie within 3.75 of one, and seldom within half of it."""
    spread = jnp.linspace(0.0, 10.0, 8)

    def ask(model, width):
        posterior, cluster = model.condition(), jnp.linspace(5.0, 5.0 + width, 18)
        x = jnp.concatenate([spread, cluster])[:, None]
        return said(warn_about_targets, posterior, x)

    assert not ask(relative, 3.0)
    (message,) = ask(relative, 1.0)
    assert "16 points 5 times as close together" in message
    clustered = dataclasses.replace(relative, support=dataclasses.replace(SUPPORT, crowding=0.5))
    assert not ask(clustered, 1.0)


def test_records_know_how_close_points_crowd(relative):
    x = jnp.concatenate([jnp.linspace(0.0, 10.0, 4), jnp.linspace(4.0, 4.3, 16)])[None, :, None]
    functions = Batch(x, 0 * x, jnp.ones(x.shape[:2]), jnp.zeros(x.shape[:2]))
    generator = ResampledGenerator(functions=functions, batch_size=2)
    crowding = with_support(relative, generator).support.crowding
    assert 0.15 < crowding < 0.17


def test_points_far_sparser_than_in_training_are_told(relative):
    support = dataclasses.replace(SUPPORT, max_spacing=0.5, extents=(100.0,))
    model = dataclasses.replace(relative, support=support)

    def ask(targets, context=0):
        posterior = model.condition(3.0 * np.arange(context)[:, None], np.zeros((context, 1)))
        return said(warn_about_targets, posterior, jnp.asarray(targets, float)[:, None])

    (message,) = ask(np.arange(20) * 3.0)
    assert message.endswith("points 6 times as far apart as the sparsest in training")
    assert not ask(np.arange(10) * 3.0 + 1, context=10)  # these have neighbours in the context
    for targets in ([], [50.0], [0.0, 90.0], np.linspace(0, 90, 7), np.arange(20) * 1.9):
        assert not ask(targets), targets
    assert not ask([50.0], context=6)  # few points: their distances say nothing
    assert not ask(np.zeros(12))
    model = relative  # whose record is an older one
    assert not ask(np.arange(7) * 1.5)


def test_sparse_targets_of_a_neural_process_are_nothing_unusual():
    """Given the context they do not see each other."""
    model = gn.load("neural-processes-gnp2020/se-convcnp")
    assert model.support.max_spacing < 0.05
    posterior = model.condition(column(-1.0, 0.3), column(0.5, -0.2))
    assert not said(warn_about_targets, posterior, jnp.linspace(-2.0, 2.0, 9)[:, None])
    (message,) = said(warn_about_targets, posterior, jnp.linspace(-9.0, 9.0, 9)[:, None])
    assert "points over a range" in message


def test_densities_are_compared_where_the_mask_is_one(relative):
    x, y = column(1.0, 2.0, 3.0), column(0.0, 1.0, 1e6)
    assert said(relative.log_prob, x, y)
    assert not said(relative.log_prob, x, y.at[2].set(2.0))
    assert not said(relative.log_prob, x, y, mask=jnp.asarray([1.0, 1.0, 0.0]))


def test_nothing_is_said_without_a_record_or_while_tracing(relative):
    silent = dataclasses.replace(relative, support=None)
    assert not said(silent.condition, column(1.0), column(1e9))
    traced = jax.jit(lambda y: relative.condition(column(1.0), y).observations.y)
    assert not said(traced, column(1e9))


def test_local_networks_take_any_extent_and_number():
    small = {"channels": 4, "width": 8, "num_layers": 1, "key": jr.key(0)}
    net = Steerable2(**small)
    assert net.local and not Steerable2(num_pooling_widths=2, **small).local
    noising = OrnsteinUhlenbeck(
        gn.kernels.Diagonal(gn.kernels.White(), 2), LinearSchedule(0.0, 1.0)
    )
    support = TrainingSupport(((0.0, 1.0),) * 2, ((-1.0, 1.0),) * 2, (1.0, 1.0), 0.1, 2, 1)
    model = gn.Model(noising, NetworkScore(net, conditional=True), support=support)
    x = jnp.stack([jnp.linspace(0, 50, 40), jnp.zeros(40)], axis=1)
    assert not said(model.condition, x, jnp.zeros((40, 2)))
    assert said(model.condition, x / 1000, jnp.zeros((40, 2)))


def functions(shift: float = 0.0) -> Batch:
    """Three functions at 4, 3 and 2 points, one apart, on [0, 3] and with values to 7."""
    x = jnp.broadcast_to(jnp.arange(4.0)[None, :, None], (3, 4, 1)) + shift
    y = jnp.asarray([[0.0, 1.0, 2.0, 7.0], [0.0, -2.0, 0.0, 99.0], [1.0, 1.0, 99.0, 99.0]])
    mask = jnp.asarray([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    return Batch(x, y[:, :, None], mask, jnp.zeros_like(mask))


def test_the_record_is_what_the_functions_show(relative):
    """Of a finite set all functions are looked at, real points only, and units are the data's."""
    generator = ResampledGenerator(
        functions=functions(), batch_size=2, contexts=ContextSampler(share=1.0)
    )
    loss = DenoisingLoss(context_noise_levels=ContextNoiseLevels(low=1e-3, high=0.5))
    model = dataclasses.replace(relative, normaliser=Normaliser(100.0, 10.0, 5.0, 3.0))
    support = with_support(model, generator, loss, batches=20).support
    assert support is not None
    np.testing.assert_allclose(support.inputs, [(100.0, 130.0)], rtol=2e-3)
    np.testing.assert_allclose(support.outputs, [(-1.0, 26.0)], rtol=2e-3)
    np.testing.assert_allclose(support.extents, [30.0], rtol=2e-3)
    np.testing.assert_allclose(support.spacing, 1.0, rtol=2e-3)
    assert support.max_spacing is not None and support.max_spacing >= support.spacing
    np.testing.assert_allclose(support.noise, (1e-3 * 2 * 9, 0.5 * 2 * 9), rtol=2e-3)
    assert (support.points, support.contexts) == (4, 3)


def test_fields_of_the_globe_are_a_finite_set(relative):
    """Of which a batch shows few: the record has the largest of 200 values all the same."""
    x = jnp.eye(3)
    y = jnp.zeros((200, 3, 1)).at[177, 1].set(40.0)
    generator = GlobeGenerator(x, y, jnp.zeros(3), 2, 2, None, rotate=False, mirror=False)
    support = with_support(relative, generator, batches=1).support
    assert support is not None
    np.testing.assert_allclose(support.outputs, [(0.0, 40.0)], rtol=2e-3)


def test_noise_is_recorded_as_zero_where_training_came_close(relative):
    generator = ResampledGenerator(
        functions=functions(), batch_size=2, contexts=ContextSampler(share=1.0)
    )
    near = DenoisingLoss(context_noise_levels=ContextNoiseLevels(low=1e-7, high=1.0))
    support = with_support(relative, generator, near).support
    assert support is not None and support.noise is not None and support.noise[0] == 0
    unconditional = dataclasses.replace(generator, contexts=None)
    support = with_support(relative, unconditional, near).support
    assert support is not None and support.noise is None


def test_noise_on_the_sphere_is_a_heat_time():
    noising = Brownian(Sphere(2), LinearSchedule(1e-4, 15.0))
    net = SphericalAttention(**SIZES, key=jr.key(0))
    model = gn.Model(noising, NetworkScore(net, PreconditionK(), conditional=True))
    y = Sphere(2).uniform(12, key=jr.key(1), dtype=jnp.zeros(()).dtype).reshape(3, 4, 3)
    generator = ResampledGenerator(functions=functions()._replace(y=y), batch_size=2)
    loss = DenoisingLoss(context_noise_levels=ContextNoiseLevels(low=1e-3, high=0.5))
    support = with_support(model, generator, loss).support
    assert support is not None
    np.testing.assert_allclose(support.noise, np.log1p([1e-3, 0.5]), rtol=2e-3)


def test_training_leaves_a_record_that_is_saved(relative, tmp_path):
    model, _ = gn.fit(
        dataclasses.replace(relative, support=None),
        functions(),
        steps=1,
        key=jr.key(0),
        quiet=True,
    )
    assert model.support is not None and model.support.points == 4
    model.save(tmp_path / "m")
    assert gn.load(tmp_path / "m").support == model.support
    assert said(gn.load(tmp_path / "m").condition, column(1.0), column(1000.0))


SHOWN = ["OrnsteinUhlenbeck", "RelativeAttention", "num_layers 1", "time (days)", "level (m)"]
SHOWN += ["only differences matter", "0.0005", "x_scale 2", "one reverse pass", "up to 20 points"]
SHOWN += ["x 0 to 10; y -1 to 3", "0.001 to 1"]


def test_models_and_posteriors_are_ten_lines_that_can_be_read(relative, exact):
    model = relative.with_variables("time", "level", units={"time": "days", "level": "m"})
    model = dataclasses.replace(model, normaliser=Normaliser(1.0, 2.0, 3.0, 4.0))
    text = repr(model)
    assert 8 <= len(text.splitlines()) <= 14 and max(map(len, text.splitlines())) < 140
    count = sum(leaf.size for leaf in jax.tree.leaves(model.score.net))
    for part in [*SHOWN, f"{count:,} parameters"]:
        assert part in text, part
    text = repr(model.condition(column(1.0, 2.0), column(0.0, 0.0), noise=0.1))
    assert "2 context points, with noise" in text and "RelativeAttention" in text
    assert "GaussianScore" in repr(exact) and "no record" in repr(exact)
