"""Inputs at an offset of 1e7: the same answers as at zero in float32, or a refusal in words."""

import dataclasses
import importlib

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import Model, build, fit, nets
from geomndp._types import Batch
from geomndp.data import Normaliser
from geomndp.geometry import Sphere
from geomndp.gp import GP
from geomndp.kernels import Diagonal, SquaredExponential, White
from geomndp.likelihood import Flow
from geomndp.model.units import common_centre
from geomndp.noising import Brownian, LinearSchedule, OrnsteinUhlenbeck
from geomndp.patches import Patches
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore, NetworkScore, PreconditionK
from geomndp.train import History

from ..cases import perturbed

SCHEDULE = LinearSchedule(0.0, 10.0)
FAR = 1e7  # float32 has steps of 1 here
SIZES = {"width": 8, "num_layers": 1, "num_heads": 2}
RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-2, 2, (9, 1)), axis=0)
DRAW = {"key": 0, "num_samples": 2, "sampler": Amortised(3)}


@pytest.fixture(autouse=True)
def single():
    """Arithmetic of a user who has not asked for float64."""
    with jax.enable_x64(False):
        yield


def awake(net):
    """The network with no parameter at zero."""
    return perturbed(net, 0.3, key=jr.key(5))


def model_of(net, **options):
    kernel = White() if net.output_dim == 1 else Diagonal(White(), net.output_dim)
    score = NetworkScore(awake(net), conditional=True)
    return Model(OrnsteinUhlenbeck(kernel, SCHEDULE), score, **options)


def line(**options):
    return model_of(nets.RelativeAttention(1, 1, **SIZES, key=jr.key(0)), **options)


def plane(**options):
    net = nets.Steerable2(width=8, num_layers=1, channels=2, max_neighbours=8, key=jr.key(0))
    return model_of(net, **options)


UNITS = Normaliser(x_shift=0.5, x_scale=2.0, y_scale=3.0)


@pytest.mark.parametrize(
    "units",
    [pytest.param(None, marks=pytest.mark.slow, id="plain"), pytest.param(UNITS, id="scaled")],
)
@pytest.mark.parametrize("make", [line, pytest.param(plane, marks=pytest.mark.slow)])
def test_an_offset_changes_nothing_where_inputs_are_relative(make, units):
    model = make(normaliser=units)
    x = X if make is line else RNG.uniform(-2, 2, (9, 2))
    y = RNG.normal(size=(9, model.noising.dim))
    near, far = (model.condition(x[:4] + shift, y[:4]) for shift in (0.0, FAR))
    assert near.centre == () != far.centre
    expected = near.sample(x, **DRAW)
    assert_allclose(far.sample(x + FAR, **DRAW), expected, atol=2e-4)
    assert_allclose(far.log_prob(x + FAR, y), near.log_prob(x, y), rtol=2e-4)


def test_targets_without_observations_have_a_centre_of_their_own():
    model, y = line(), RNG.normal(size=(9, 1))
    assert_allclose(model.sample(X + FAR, **DRAW), model.sample(X, **DRAW), atol=2e-4)
    mask = np.arange(9) < 7  # padding is no input
    padded = np.where(mask[:, None], X + FAR, 0.0)
    expected = model.log_prob(X, y, mask=mask)
    assert_allclose(model.log_prob(padded, y, mask=mask), expected, rtol=2e-4)


def test_other_columns_than_the_context_are_refused_at_any_offset():
    far = plane().condition(np.full((2, 2), FAR), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="2 columns"):
        far.sample(np.full(3, FAR), key=0)


def test_which_inputs_are_relative():
    """Those of networks with differences only, on white noise without a mean."""
    relative = {
        "relative": (nets.RelativeAttention(2, 1, **SIZES, key=jr.key(0)), 2),
        "centred": (nets.BiDimensionalAttention(2, 1, inputs="centred", **SIZES, key=jr.key(0)), 2),
        "absolute": (nets.BiDimensionalAttention(2, 1, **SIZES, key=jr.key(0)), 0),
        "side": (
            nets.Steerable2(
                num_invariant_inputs=1, width=8, channels=2, num_layers=1, key=jr.key(0)
            ),
            2,
        ),
        "tracks": (nets.SphericalAttention(**SIZES, key=jr.key(0)), 1),
        "tracks-absolute": (
            nets.SphericalAttention(absolute_min_wavelength=0.5, **SIZES, key=jr.key(0)),
            0,
        ),
    }
    for net, columns in relative.values():
        if isinstance(net, nets.SphericalAttention):
            noising, meaning = Brownian(Sphere(2), SCHEDULE), PreconditionK()
            model = Model(noising, NetworkScore(net, meaning))
        else:
            model = model_of(net)
        x = np.full((2, net.input_dim), FAR)
        x[1] += 1.0
        expected = tuple(np.where(np.arange(net.input_dim) < columns, FAR + 0.5, 0.0))
        assert common_centre(model, x) == (expected if columns else ())
    slope = dataclasses.replace(line().noising, mean=lambda x: x)
    assert common_centre(dataclasses.replace(line(), noising=slope), X + FAR) == ()


def test_a_spacing_that_float32_cannot_hold_is_refused():
    exact = Model(OrnsteinUhlenbeck(White(), SCHEDULE), GaussianScore(GP(SquaredExponential(0.5))))
    words = r"spacing float32 can hold, got x near 1e\+07 with a spacing of"
    for model, x in (
        (exact, X + FAR),  # float64, but nothing may be subtracted
        (line(), (X + FAR).astype(np.float32)),  # already lost
        (line(), jnp.asarray(X + FAR)),
    ):
        with pytest.raises(ValueError, match=words):
            model.condition(x, X)
        with pytest.raises(ValueError, match=words):
            model.sample(x, key=0)
        with pytest.raises(ValueError, match=words):
            model.log_prob(x, X)
    # Whole metres have no digits to lose; repeated inputs and single ones have no spacing.
    whole = FAR + np.arange(6.0)[:, None]
    assert_allclose(exact.condition(whole, whole * 0).observations.x, whole, rtol=0)
    for x in (np.full((3, 1), FAR + 0.3), np.full((1, 1), FAR + 0.3)):
        assert jnp.all(jnp.isfinite(exact.sample(x, **DRAW)))


def test_a_spacing_is_that_to_the_nearest_point_not_of_single_columns():
    """Random points of the plane: their single coordinates are far closer than the points."""
    model = Model(OrnsteinUhlenbeck(White(), SCHEDULE), GaussianScore(GP(SquaredExponential(0.5))))
    x = FAR + 1000 * np.random.default_rng(0).uniform(size=(400, 2))  # moved by up to half a metre
    model.condition(x, x[:, :1] * 0)
    with pytest.raises(ValueError, match="spacing float32 can hold"):
        model.condition(FAR + (x - FAR) / 10, x[:, :1] * 0)
    # One column of seconds that float32 merges, beside one of metres that it holds.
    grid = np.stack(np.meshgrid(1.7e9 + 60.0 * np.arange(60), 1e3 * np.arange(10.0)), -1)
    with pytest.raises(ValueError, match=r"got x near 1\.7e\+09 with a spacing of 60"):
        model.condition(grid.reshape(-1, 2), np.zeros((600, 1)))


def profiles(offset, seed=0):
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 6.0, 8)
    values = np.sin(x[None] + rng.uniform(0, 6, (12, 1))) + 0.1 * rng.normal(size=(12, 8))
    return xr.Dataset({"y": (("function", "x"), values)}, {"x": x + offset})


@pytest.mark.parametrize("symmetry", ["translation", "none"])
def test_own_data_at_an_offset_make_the_same_recipe(symmetry):
    """The offset goes into the normaliser: the same network sees the same numbers."""
    near, far = (build(profiles(offset), symmetry, key=1, **SIZES) for offset in (0.0, FAR))
    assert eqx.tree_equal(near.model.score, far.model.score)
    for one, other in zip(near.data.functions[:4], far.data.functions[:4], strict=True):
        assert_allclose(other, one, atol=1e-6)


@pytest.mark.slow  # the same network sees the same numbers: above
def test_own_data_at_an_offset_train_the_same():
    found = []
    for offset in (0.0, FAR):
        data = profiles(offset)
        plan = build(data, batch_size=8, key=1, **SIZES)
        model, history = fit(plan, steps=6, key=2, quiet=True)
        x, y = data.x.values[:, None], data.y.values[0][:, None]
        given = model.condition(x[:3], y[:3])
        found.append((history.loss, given.sample(x, **DRAW), given.log_prob(x[3:], y[3:])))
    for near, far in zip(*found, strict=True):
        assert_allclose(far, near, rtol=2e-3, atol=2e-3)


def test_a_batch_at_an_offset_is_trained_on_at_its_own_centre(monkeypatch):
    """Each function at its own, where the model sees differences only and none is scaled."""
    seen = []

    def train(score, noising, data, **_):
        seen.append(data.functions)
        return score, History(*[np.zeros(1)] * len(History._fields))

    monkeypatch.setattr(importlib.import_module("geomndp.auto.fit"), "fit_score", train)
    x, ones = np.stack([X, X + 1.0]), np.ones((2, 9))
    offsets = np.array([FAR, -3 * FAR])[:, None, None]
    for shifts in (0.0, offsets):
        fit(line(), Batch(x + shifts, np.sin(x), ones, 0 * ones), steps=1, key=0)
    near, far = (np.asarray(functions.x, np.float64) for functions in seen)
    assert seen[1].x.dtype == jnp.float32
    assert_allclose(far - far[:, :1], near - near[:, :1], atol=1e-6)


def test_densities_by_patches_are_the_same_far_from_zero():
    model, y = line(), np.cos(X)
    request = {"y": y, "patches": Patches(1.5, 1.0, max_points=5), "flow": Flow(steps=2)}
    near = model.condition().log_prob_info(X, **request).value
    far = model.condition().log_prob_info(X + FAR, **request).value
    assert_allclose(far, near, rtol=1e-4)
