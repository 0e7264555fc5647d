"""Fields drawn by patches: against the exact law of the scheme, for processes and exact scores."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import geomndp as gn
from geomndp._warnings import ApproximationWarning, OutsideTrainingWarning
from geomndp.model import patchwise
from geomndp.patches import Patches
from geomndp.samplers import Amortised

NOISE = 0.05
KERNEL = gn.kernels.Matern32(1.0)
PROCESS = gn.ProcessModel(gn.gp.GP(KERNEL, noise=NOISE))
X = np.arange(16) * 0.5
OBSERVED = np.asarray([0.2, 3.1, 3.3, 7.4]), np.asarray([1.0, -0.5, -1.0, 0.7])
SCHEME = Patches(width=4, halo=1.5, max_points=8)


def model():
    schedule = gn.noising.LinearSchedule(1e-4, 15.0)
    noising = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(1.0), schedule)
    return gn.Model(noising, gn.score.GaussianScore(gn.gp.GP(KERNEL, noise=NOISE)))


def matern(a, b):
    r = np.sqrt(3) * np.abs(a[:, None, 0] - b[None, :, 0])
    return (1 + r) * np.exp(-r)


def two_patch_law():
    """Mean and covariance of the field: the first half given observations, then the second."""
    xc, yc = OBSERVED[0][:, None], OBSERVED[1]
    x = X[:, None]
    first, second = x[:8], x[8:]

    def given(targets, points):
        gram = matern(points, points) + NOISE * np.eye(len(points))
        weights = np.linalg.solve(gram, matern(points, targets)).T
        own = matern(targets, targets) + NOISE * np.eye(len(targets))
        return weights, own - weights @ matern(points, targets)

    near = xc[:3]  # within 1.5 of the first patch, and the last two or three of the second
    weights, covariance = given(first, near[: int(np.sum(near[:, 0] <= 5.0))])
    mean = weights @ yc[: weights.shape[1]]
    rows = np.flatnonzero(first[:, 0] >= second[0, 0] - 1.5 - 1e-9)
    seen = np.flatnonzero(np.abs(xc[:, 0] - np.clip(xc[:, 0], 4.0, 7.5)) <= 1.5)
    weights, own = given(second, np.concatenate([xc[seen], first[rows]]))
    known, carried = weights[:, : len(seen)], weights[:, len(seen) :]
    later = known @ yc[seen] + carried @ mean[rows]
    cross = carried @ covariance[rows]
    block = own + carried @ covariance[np.ix_(rows, rows)] @ carried.T
    return np.concatenate([mean, later]), np.block([[covariance, cross.T], [cross, block]])


def z_scores(samples):
    """Of means and of covariances, over their standard errors."""
    mean, covariance = two_patch_law()
    s, variance = len(samples), np.diag(covariance)
    of_mean = (samples.mean(axis=0) - mean) / np.sqrt(variance / s)
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / s)
    return of_mean, (np.cov(samples.T) - covariance) / error


def test_samples_of_a_process_have_the_law_of_the_scheme():
    posterior = PROCESS.condition(*OBSERVED)
    samples = posterior.sample(X, key=1, num_samples=3000, patches=SCHEME)
    of_mean, of_covariance = z_scores(np.asarray(samples)[:, :, 0])
    assert np.abs(of_mean).max() < 4
    assert np.abs(of_covariance).max() < 4.5


@pytest.mark.slow
def test_samples_of_an_exact_score_have_the_law_of_the_scheme():
    posterior = model().condition(*OBSERVED)
    field = patchwise.patchwise_field(
        posterior, X, 2, 200, SCHEME, gn.patches.MemoryValues(), sampler=Amortised(24)
    )
    gn.patches.run(field, progress=False)
    of_mean, of_covariance = z_scores(field.values.field(field.layout)[:, :, 0])
    assert np.abs(of_mean).max() < 4
    assert np.abs(of_covariance).max() < 4.5


def test_the_same_sample_whatever_their_number_and_in_the_order_of_the_rows():
    posterior = PROCESS.condition(*OBSERVED)
    options = {"key": 3, "patches": SCHEME}
    three = posterior.sample(X, num_samples=3, **options)
    two = posterior.sample(X, num_samples=2, scheduler="threads", **options)
    np.testing.assert_array_equal(three[:2], two)
    shuffled = np.random.default_rng(0).permutation(len(X))
    mixed = posterior.sample(X[shuffled], num_samples=3, **options)
    np.testing.assert_allclose(mixed, three[:, shuffled], atol=1e-9)


def test_a_score_is_given_the_drawn_values_of_its_own_sample():
    posterior = model().condition(*OBSERVED, noise=0.01)
    options = {"key": 3, "patches": SCHEME, "sampler": Amortised(2)}
    both = np.asarray(posterior.sample(X, num_samples=2, **options))
    assert both.shape == (2, 16, 1) and np.isfinite(both).all()
    alone = posterior.sample(X, num_samples=1, **options)  # a program of fewer rows
    np.testing.assert_allclose(alone, both[:1], rtol=0, atol=1e-12)


def test_a_score_on_the_sphere_is_drawn_by_patches():
    """Unit vectors all along, and schemes that follow from the sphere: its own kernel's."""
    kernel = gn.kernels.ZonalExponential(0.3)
    noising = gn.noising.OrnsteinUhlenbeck(
        gn.kernels.White(1.0), gn.noising.LinearSchedule(1e-4, 15.0)
    )
    globe = gn.Model(noising, gn.score.GaussianScore(gn.gp.GP(kernel, noise=NOISE)))
    x = np.random.default_rng(0).normal(size=(40, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    for posterior in (globe.condition(), globe.condition(x[:3], np.ones(3))):
        options = {"patches": Patches(0.9, 0.6), "sampler": Amortised(2), "key": 0}
        assert np.isfinite(posterior.sample(x[3:], num_samples=2, **options)).all()
        _, layout = patchwise.read_layout(posterior, x, "auto")
        np.testing.assert_allclose(layout.scheme.halo, 0.3 * np.sqrt(2 * np.log(10)), rtol=0.02)


def test_a_network_on_the_sphere_is_trusted_with_what_it_saw_of_it():
    """All of it, or a region: then no further than in a plane."""
    globe = gn.load("sphere-fields/div-free")
    x = np.eye(3)
    scheme = patchwise.read_layout(globe.condition(), x, "auto")[1].scheme
    np.testing.assert_allclose(scheme.halo, 1.0, rtol=0.01)
    seen = (0.3, 0.3, 0.24)
    support = dataclasses.replace(globe.support, extents=seen)
    region = dataclasses.replace(globe, support=support)
    scheme = patchwise.read_layout(region.condition(), x, "auto")[1].scheme
    np.testing.assert_allclose(scheme.halo, np.asarray(seen) / 6)


def test_units_and_names_of_tables():
    units = gn.data.Normaliser(x_shift=2.0, x_scale=10.0, y_shift=100.0, y_scale=5.0)
    named = gn.ProcessModel(PROCESS.process, units).with_variables("time", "level")
    plain = PROCESS.condition(*OBSERVED).sample(X, key=0, num_samples=2, patches=SCHEME)
    table = pd.DataFrame({"time": 2 + 10 * OBSERVED[0], "level": 100 + 5 * OBSERVED[1]})
    wide = Patches(width=40, halo=15, max_points=8)
    targets = pd.DataFrame({"time": 2 + 10 * X})
    frame = named.condition(table).sample(targets, key=0, num_samples=2, patches=wide)
    values = frame["level"].to_numpy().reshape(2, -1)
    np.testing.assert_allclose(values, 100 + 5 * np.asarray(plain)[:, :, 0], rtol=1e-9)


def test_a_grid_keeps_its_dimensions():
    gp = gn.gp.GP(KERNEL, noise=NOISE)
    named = gn.ProcessModel(gp).with_variables(("a", "b"), "level")
    grid = xr.Dataset(coords={"a": np.arange(6.0), "b": np.arange(4.0)})
    result = named.condition().sample(grid, key=0, num_samples=2, patches=Patches(3, 2))
    assert dict(result.sizes) == {"sample": 2, "a": 6, "b": 4}
    assert np.isfinite(result["level"]).all()
    with pytest.raises(ValueError, match="sorted, distinct values along 'a'"):
        named.condition().sample(grid.isel(a=[1, 0, 2]), key=0, patches=Patches(3, 2))


def test_a_mixture_is_drawn_member_by_member():
    means = [lambda x: jnp.full((len(x), 1), -50.0), lambda x: jnp.full((len(x), 1), 50.0)]
    members = [gn.ProcessModel(gn.gp.GP(KERNEL, mean, NOISE)) for mean in means]
    mixture = gn.MixtureProcess(members).condition()
    samples = np.asarray(mixture.sample(X, key=0, num_samples=20, patches=SCHEME))[:, :, 0]
    signs = np.sign(samples)
    assert np.all(signs == signs[:, :1])  # both halves of a sample are of one member
    assert set(signs[:, 0]) == {-1.0, 1.0}


def test_one_scheme_suits_all_members_of_a_mixture():
    """The longest correlations count in any order, but no network sees more than it knows."""
    short, long = (
        gn.ProcessModel(gn.gp.GP(gn.kernels.SquaredExponential(v), noise=NOISE)) for v in (0.2, 2.0)
    )
    halos = [
        patchwise.read_layout(law.condition(), X, "auto")[1].scheme.halo
        for law in (long, gn.MixtureProcess((long, short)), gn.MixtureProcess((short, long)))
    ]
    assert halos[0] == halos[1] == halos[2]
    network = gn.load("regression1d/se")
    law = gn.MixtureProcess((gn.ProcessModel(long.process).with_variables("x", "y"), network))
    with pytest.warns(ApproximationWarning, match="narrow for a correlation range"):
        located = patchwise.read_layout(law.condition(), X, "auto")
    np.testing.assert_allclose(located[1].scheme.halo, np.asarray(network.support.extents) / 6)
    with pytest.warns(OutsideTrainingWarning, match="times as close to each other"):
        options = {"key": 0, "num_samples": 2, "values": gn.patches.MemoryValues()}
        patchwise.patchwise_field(law.condition(), X / 1e4, patches="auto", **options)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"patches": "wide"}, 'expected patches as "auto" or'),
        ({"patches": 3}, 'expected patches as "auto" or'),
        ({"patches": SCHEME, "mask": np.ones(16)}, "expected no mask beside patches"),
        ({"patches": SCHEME, "num_samples": 0}, "num_samples"),
        ({"patches": Patches((1, 2), 1)}, "expected one length, or one per input"),
        ({"patches": SCHEME, "scheduler": "tcp://host:8786"}, "expected a store"),
        ({"patches": SCHEME, "scheduler": "thread"}, "expected scheduler None"),
        ({"scheduler": "threads"}, "expected patches"),
    ],
)
def test_what_is_not_supported_is_refused(options, match):
    with pytest.raises(ValueError, match=match):
        PROCESS.condition(*OBSERVED).sample(X, key=0, **options)


def test_what_is_no_sampler_is_refused():
    with pytest.raises(ValueError, match="expected a sampler such as"):
        model().condition().sample(X, key=0, patches=SCHEME, sampler="flow-map")


@pytest.mark.parametrize("x", [np.zeros((0, 1)), np.asarray([[np.nan]]), np.zeros((3, 4))])
def test_targets_that_are_no_places_are_refused(x):
    with pytest.raises(ValueError, match="expected"):
        PROCESS.condition().sample(x, key=0, patches=SCHEME)


def test_the_default_scheme_of_a_process_follows_its_kernel():
    _, layout = patchwise.read_layout(PROCESS.condition(), np.arange(100) * 0.5, "auto")
    assert layout.levels[0].width[0] == pytest.approx(3.5 * 2.24, rel=0.05)
    assert layout.levels[0].halo[0] == pytest.approx(2.24, rel=0.05)


def test_patches_much_narrower_than_the_correlation_range_are_warned_of():
    posterior, x = PROCESS.condition(), np.arange(40) * 0.5
    for scheme in (Patches(2, 4), Patches(6, 1), "width=2,halo=1"):
        with pytest.warns(ApproximationWarning, match=r"narrow for a correlation range of 2\.2"):
            patchwise.read_layout(posterior, x, scheme)
    for scheme in (Patches(3, 1.5), "auto"):  # 1.25 and 0.5 ranges and more
        patchwise.read_layout(posterior, x, scheme)
    patchwise.read_layout(posterior, x[:3], Patches(2, 1))  # all in one patch


def test_patches_much_narrower_than_what_a_network_saw_are_warned_of():
    network = gn.load("vector-fields/div-free")
    x = np.random.default_rng(0).uniform(0, 40, (200, 2))
    with pytest.warns(ApproximationWarning, match="network is trusted with of .* would do"):
        patchwise.read_layout(network.condition(), x, Patches(4, 3))
    patchwise.read_layout(network.condition(), x, Patches(12, 6))
    patchwise.read_layout(network.condition(), x, "auto")


@pytest.mark.parametrize("columns", [2, 3])
def test_targets_of_other_columns_than_the_context_are_refused(columns):
    posterior = model().condition(*OBSERVED)
    with pytest.raises(ValueError, match=f"expected x of 1 columns, got {columns}"):
        posterior.sample(np.zeros((4, columns)), key=0, num_samples=1, patches=SCHEME)
