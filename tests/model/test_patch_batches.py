"""Patches of a score in batches: what each gives alone, to the bit where a batch was stopped."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import geomndp as gn
from geomndp._progress import Clock
from geomndp.model import patch_batches, patch_stretches, patchwise
from geomndp.nets import graph_nets
from geomndp.patches import MemoryValues, Patches, run
from geomndp.samplers import Amortised

pytestmark = pytest.mark.filterwarnings("ignore:patches of width")  # small fields, small patches
X = np.arange(24) * 0.5
OBSERVED = np.asarray([0.2, 3.1, 3.3, 7.4]), np.asarray([1.0, -0.5, -1.0, 0.7])
SCHEME = Patches(width=2, halo=1.5)
NOISING = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(1.0), gn.noising.LinearSchedule(1e-4, 15.0))


def model():
    gp = gn.gp.GP(gn.kernels.Matern32(1.0), noise=0.05)
    return gn.Model(NOISING, gn.score.GaussianScore(gp))


def field(num_samples=2, **options):
    posterior = model().condition(*OBSERVED, noise=0.01)
    request = X, 3, num_samples, SCHEME, MemoryValues()
    return patchwise.patchwise_field(posterior, *request, sampler=Amortised(2), **options)


def values(field):
    return field.values.field(field.layout)


def one_by_one(field):
    for index in (i for stage in field.layout.stages for i in stage):
        field.draw_and_write(index)
    return values(field)


@pytest.fixture(scope="module")
def whole():
    drawn = field()
    run(drawn, progress=False)
    return values(drawn)


def test_batches_give_what_patches_alone_give(whole):
    assert any(len(batch.patches) > 1 for stage in field().batches() for batch in stage)
    np.testing.assert_allclose(one_by_one(field()), whole, atol=1e-4)


def test_a_field_that_was_stopped_within_a_batch_goes_on_to_the_same_bits(whole):
    stopped, done = field(), field()
    run(done, progress=False)
    first = stopped.batches()[0][0]
    for index in first.patches[:-1]:
        patch = stopped.layout.patches[index]
        stopped.values.write(patch, done.values.read(patch))
    counts = []
    run(stopped, progress=counts.append)
    np.testing.assert_array_equal(values(stopped), whole)
    assert counts[0] == len(first.patches) - 1 and counts[-1] == len(stopped.layout.patches)


def test_a_store_that_was_stopped_within_a_batch_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    zarr_values = pytest.importorskip("geomndp.patches.zarr_values")
    posterior = model().with_variables("x", "y").condition(*OBSERVED, noise=0.01)
    request = {"key": 3, "num_samples": 2, "patches": SCHEME, "sampler": Amortised(2)}
    expected = posterior.sample(X, out=tmp_path / "whole.zarr", **request)["y"].values
    written, original = [], zarr_values.ZarrValues.write

    def write(self, patch, values):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(patch.index)
        original(self, patch, values)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(zarr_values.ZarrValues, "write", write)
        posterior.sample(X, out=tmp_path / "field.zarr", **request)
    counts = []
    resumed = posterior.sample(X, out=tmp_path / "field.zarr", **request, progress=counts.append)
    assert counts[0] == 2
    np.testing.assert_array_equal(resumed["y"].values, expected)


def test_ctrl_c_is_seen_between_the_steps_of_a_batch(whole, monkeypatch):
    """Stretches of one step have the bits of longer ones; after a stop nothing is written."""
    stretches, original = [], Clock.through

    def one_step_each(self, total, move):
        self.stretch_seconds = 0.0
        for done in original(self, total, move):
            stretches.append((done, total))
            if len(stretches) == 1:
                raise KeyboardInterrupt
            yield done

    monkeypatch.setattr(Clock, "through", one_step_each)
    stopped = field()
    with pytest.raises(KeyboardInterrupt):
        run(stopped, progress=False)
    assert stretches == [(1, 2)] and not any(map(stopped.values.done, stopped.layout.patches))
    run(stopped, progress=False)
    np.testing.assert_array_equal(values(stopped), whole)


def test_the_order_of_batches_does_not_matter(whole):
    backwards = field()
    run(backwards, progress=False, mapper=lambda f, items: [f(i) for i in reversed(items)])
    np.testing.assert_array_equal(values(backwards), whole)


def test_other_batches_give_the_same_to_rounding(whole, monkeypatch):
    monkeypatch.setattr(patch_batches, "BATCH_POINTS", {"cpu": 1})
    assert {batch.size for stage in field().batches() for batch in stage} == {1}
    alone = field()
    run(alone, progress=False)
    np.testing.assert_allclose(values(alone), whole, atol=1e-4)


def test_fewer_rows_where_memory_is_short(whole, monkeypatch):
    tried, original = [], patch_stretches.memory_bound

    def count(max_memory, device):
        tried.append(max_memory)
        return original(max_memory, device)

    monkeypatch.setattr(patch_stretches, "memory_bound", count)
    with pytest.raises(MemoryError, match="max_memory"):
        run(field(max_memory=1), progress=False)
    assert len(tried) > 1  # with ever fewer rows


def test_few_programs_for_a_field(monkeypatch):
    programs, original = set(), patch_stretches.program

    def remember(*args):
        compiled = original(*args)
        programs.add(id(compiled))
        return compiled

    monkeypatch.setattr(patch_stretches, "program", remember)
    long = patchwise.patchwise_field(
        model().condition(), np.arange(80) * 0.5, 0, 1, SCHEME, MemoryValues(), sampler=Amortised(2)
    )
    run(long, progress=False)
    assert len(long.layout.patches) == 20
    assert len(programs) == 4  # to start and to go on, without context and with


def test_a_mixture_of_scores_in_batches():
    means = [lambda x: jnp.full((len(x), 1), -50.0), lambda x: jnp.full((len(x), 1), 50.0)]
    gps = [gn.gp.GP(gn.kernels.Matern32(1.0), mean, noise=0.05) for mean in means]
    members = [gn.Model(NOISING, gn.score.GaussianScore(gp)) for gp in gps]
    mixture = gn.MixtureProcess(members).condition()
    options = {"num_samples": 6, "patches": SCHEME, "sampler": Amortised(2)}
    samples = np.asarray(mixture.sample(X, key=0, **options))[:, :, 0]
    assert samples.shape == (6, 24) and np.isfinite(samples).all()


def test_patches_share_a_network_of_little_more_room():
    net = gn.nets.Steerable2(
        ("vector",), radius=1.0, width=4, channels=2, num_layers=1, key=jr.key(0)
    )
    noising = gn.noising.OrnsteinUhlenbeck(
        gn.kernels.Diagonal(gn.kernels.White(1.0), 2), gn.noising.LinearSchedule(1e-4, 15.0)
    )
    learnt = gn.Model(noising, gn.score.NetworkScore(net, conditional=True))
    near = np.random.default_rng(0).uniform(0, 0.3, (30, 2))
    many = np.random.default_rng(1).uniform(0, 0.3, (200, 2))
    problems = [
        [learnt.condition(x, 0 * x).problem(jnp.zeros((1, 2)))] for x in (near, many, near[:2])
    ]
    shared = patch_batches.with_shared_room(problems)
    rooms = [graph_nets(own[0].score)[0].config.max_neighbours for own in shared]
    assert rooms == [32, 224, 32]


@pytest.mark.parametrize("scale", [2.0, (2.0, 3.0)])
def test_inputs_may_have_units_of_their_own(scale):
    gp = gn.gp.GP(gn.kernels.Matern32(1.0), noise=0.05)
    units = gn.data.Normaliser(x_scale=scale)
    law = gn.Model(NOISING, gn.score.GaussianScore(gp), normaliser=units).condition()
    x = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    options = {"num_samples": 1, "patches": Patches(3, 1.5), "sampler": Amortised(1)}
    assert np.isfinite(law.sample(x, key=0, **options)).all()
