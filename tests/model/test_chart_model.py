"""Laws of tracks from laws in local maps: densities by area, symmetries, files, tables."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from geomndp import ChartModel, MixtureProcess, ProcessModel, load
from geomndp.data import FixedFrame, LocalFrame, Normaliser, StartDensity
from geomndp.geometry.azimuthal import centre_of, from_map
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, KernelRegression, Matern32
from geomndp.tables import name_variables

UNITS = Normaliser(x_shift=(2.0, 0.0), x_scale=(6.0, 20.0), y_shift=(10.0, 0.0), y_scale=1500.0)
X = np.asarray([[0.0], [6.0], [12.0], [18.0]])
Y = np.asarray(to_unit(np.array([-10.0, -11, -13, -16]), np.array([178.0, 179, -179, -178])))


def flat_model(factor=1.0, d=2):
    """A process of time and latitude, whose mean drift depends on both."""
    kernel = Coregionalised(Matern32(4.0), ((1.0 * factor, 0.3), (0.3, 2.0 * factor)))
    trend = np.asarray([[0.1, 0.2], [0.3, -0.2], [0.4, 0.1]][: d + 1])
    mean = KernelRegression(Matern32(1.0), np.zeros((1, d)), np.asarray([[0.5, -0.3]]), trend)
    units = UNITS if d == 2 else Normaliser(2.0, 6.0, (10.0, 0.0), 1500.0)
    return ProcessModel(GP(kernel, mean, (0.05, 0.05)), units)


START = StartDensity.fit(Y, axial=True)
MODEL = ChartModel(flat_model(), LocalFrame(), START)


def sphere_grid(rows=60, columns=60):
    """Points and weights of a quadrature over the sphere."""
    z, weights = np.polynomial.legendre.leggauss(rows)
    lat, lon = np.meshgrid(np.degrees(np.arcsin(z)), np.arange(columns) * 360 / columns)
    weights = np.broadcast_to(weights[None] * 2 * np.pi / columns, lat.shape)
    return jnp.asarray(to_unit(lat.ravel(), lon.ravel())), weights.ravel()


def densities(law, x, points, others=None):
    """Log-densities of a track whose first point runs over `points`."""

    def one(y):
        y = y[None] if others is None else jnp.concatenate([y[None], others])
        return law.log_prob_info(x, y).value

    return jax.jit(jax.vmap(one))(points)


@pytest.mark.parametrize(
    "model", [MODEL, ChartModel(flat_model(d=1), FixedFrame(tuple(Y[0].tolist())))]
)
def test_densities_integrate_to_one(model):
    points, weights = sphere_grid()
    law = model.condition(X[:2], Y[:2])
    total = np.sum(np.exp(densities(law, jnp.asarray(X[2:3]), points)) * weights)
    assert_allclose(total, 1.0, rtol=2e-3)
    both = densities(law, jnp.asarray(X[2:4]), points, jnp.asarray(Y[3:4]))
    single = law.log_prob(X[3:4], Y[3:4])
    assert_allclose(np.log(np.sum(np.exp(both) * weights)), single, atol=2e-3)


@pytest.mark.parametrize("latitude", [90.0, -90.0, 90 - 1e-9])
def test_contexts_at_the_poles(latitude):
    """A law like any other: normalised, and draws lie where its density does."""
    points, weights = sphere_grid()
    context = np.asarray(to_unit(np.full(2, latitude), np.array([20.0, 200.0])))
    law = MODEL.condition(X[:2], context)
    density = np.exp(densities(law, jnp.asarray(X[2:3]), points))
    assert_allclose(np.sum(density * weights), 1.0, rtol=2e-3)
    mean = (density * weights) @ np.asarray(points)
    draws = np.asarray(law.sample(X[2:3], key=0, num_samples=4000))[:, 0]
    assert_allclose(np.linalg.norm(draws, axis=1), 1.0)
    assert_allclose(draws.mean(axis=0), mean, atol=5 * np.max(draws.std(axis=0)) / np.sqrt(4000))


def test_contexts_without_a_map_are_refused():
    with pytest.raises(ValueError, match="expected context points with a mean direction"):
        MODEL.condition(X[:2], np.stack([Y[0], -Y[0]]))
    with pytest.raises(ValueError, match="got one opposite to it"):
        MODEL.condition(X[:3], np.stack([Y[0], Y[0], -Y[0]]))
    fixed = ChartModel(flat_model(d=1), FixedFrame(tuple(Y[0].tolist())))
    with pytest.raises(ValueError, match="got one opposite to it"):
        fixed.condition(X[:1], -Y[:1])
    near = np.stack([Y[0], np.asarray([-Y[0, 1], Y[0, 0], 0.0]) / np.hypot(*Y[0, :2])])
    assert np.isfinite(MODEL.condition(X[:2], near).log_prob(X[2:3], Y[2:3]))
    masked = MODEL.condition(X[:2], np.stack([Y[0], -Y[0]]), mask=[1, 0])
    single = MODEL.condition(X[:1], Y[:1])
    assert_allclose(masked.log_prob(X[2:3], Y[2:3]), single.log_prob(X[2:3], Y[2:3]))


@pytest.mark.slow  # samples and densities given points are fast
def test_without_a_context_the_first_point_decides():
    points, weights = sphere_grid(48, 40)
    assert_allclose(
        np.sum(np.exp(densities(MODEL, jnp.asarray(X[:1]), points)) * weights), 1.0, rtol=1e-5
    )
    # Longitudes of the first point are alike: a meridian is enough.
    z, share = np.polynomial.legendre.leggauss(32)
    firsts = to_unit(np.degrees(np.arcsin(z)), np.zeros(32))
    x = jnp.asarray(X[[1, 0]])  # the earliest stands last
    inner = jax.jit(jax.vmap(lambda one: densities(MODEL, x, points, one[None])))(
        jnp.asarray(firsts)
    )
    total = np.sum(share[:, None] * 2 * np.pi * np.exp(inner) * weights[None])
    assert_allclose(total, 1.0, rtol=5e-3)
    given = MODEL.condition(X[:1], Y[:1]).log_prob(X[1:], Y[1:])
    assert_allclose(MODEL.log_prob(X, Y), START.log_prob(jnp.asarray(Y[0])) + given)
    assert_allclose(MODEL.condition(X, Y).log_evidence().value, MODEL.log_prob(X, Y))


def test_the_density_is_that_of_the_map_per_area():
    law = MODEL.condition(X[:2], Y[:2])
    q = law.chart.to_map(jnp.asarray(Y[2:]))
    centre, latitude = centre_of(jnp.asarray(Y[:2]), None), law.chart.covariates[0]
    assert_allclose(latitude, np.degrees(np.arcsin(centre[2])))

    def inputs(x):
        return np.concatenate([x - 3.0, np.full((len(x), 1), latitude)], axis=1)

    given = flat_model().condition(inputs(X[:2]), law.chart.to_map(jnp.asarray(Y[:2])))
    # Area of the sphere per km2 of the map, from the map itself.
    jacobian = jax.vmap(jax.jacfwd(lambda p: from_map(centre, p[None] / EARTH_RADIUS_KM)[0]))(q)
    area = np.sqrt(np.linalg.det(np.einsum("nai,naj->nij", jacobian, jacobian)))
    expected = given.log_prob(inputs(X[2:]), q) - np.log(area).sum()
    assert_allclose(law.log_prob(X[2:], Y[2:]), expected)


def test_turns_about_the_axis_and_shifts_of_time_change_nothing():
    turn = np.radians(70.0)
    spin = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    nats = MODEL.condition(X[:2], Y[:2]).log_prob(X[2:], Y[2:])
    moved = MODEL.condition(X[:2] + 500, Y[:2] @ spin.T).log_prob(X[2:] + 500, Y[2:] @ spin.T)
    assert_allclose(moved, nats, rtol=1e-7)
    assert_allclose(MODEL.log_prob(X + 500, Y @ spin.T), MODEL.log_prob(X, Y), rtol=1e-7)
    tilt = np.array([[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]])
    tilted = MODEL.condition(X[:2], Y[:2] @ tilt.T).log_prob(X[2:], Y[2:] @ tilt.T)
    assert abs(tilted - nats) > 1e-3  # the latitude matters


def test_masks_and_noise():
    law = MODEL.condition(X[:2], Y[:2])
    padded = MODEL.condition(X[:3], np.concatenate([Y[:2], Y[:1]]), mask=np.array([1, 1, 0]))
    mask = np.array([1, 0])
    values = padded.log_prob(X[2:], Y[2:], mask=mask), law.log_prob(X[2:3], Y[2:3])
    assert_allclose(*values, rtol=1e-9)
    noise = (150.0 / EARTH_RADIUS_KM) ** 2  # a tenth of the unit of the map
    noisy = MODEL.condition(X[:2], Y[:2], noise=noise)
    assert_allclose(noisy.flat.observations.noise, np.full(2, 0.01))
    with pytest.raises(ValueError, match="without noise"):
        noisy.log_evidence()
    with pytest.raises(ValueError, match="manifold"):
        law.mean(X[2:])


def test_nothing_that_counts_has_density_one_without_a_context():
    nothing = np.zeros(4)
    assert MODEL.log_prob(X, Y, mask=nothing) == 0
    assert MODEL.log_prob(X[:1], Y[:1], mask=nothing[:1]) == 0
    assert MODEL.log_prob(X, 0 * Y, mask=nothing) == 0  # padding
    traced = jax.jit(lambda mask: MODEL.log_prob(jnp.asarray(X), jnp.asarray(Y), mask=mask))
    assert traced(jnp.zeros(4)) == 0
    assert_allclose(traced(jnp.ones(4)), MODEL.log_prob(X, Y), rtol=1e-6)
    assert MODEL.log_prob(X[:0], Y[:0]) == MODEL.condition().log_evidence().value == 0
    assert MODEL.sample(X[:0], key=0, num_samples=2).shape == (2, 0, 3)


def test_samples_have_the_law_of_the_map():
    law = MODEL.condition(X[:2], Y[:2])
    draws = law.sample(X[2:], key=0, num_samples=3)
    assert_allclose(np.linalg.norm(draws, axis=2), 1.0)
    inputs = np.asarray(law.chart.inputs(jnp.asarray(X[2:])))
    q = law.flat.sample(inputs, key=0, num_samples=3)
    assert_allclose(draws, jax.vmap(law.chart.from_map)(q), atol=1e-9)
    prior = MODEL.sample(X, key=0, num_samples=40)
    latitudes = np.degrees(np.arcsin(prior[:, 0, 2]))
    assert np.all(np.abs(latitudes + 13) < 15)
    steps = np.arccos(np.clip(np.sum(prior[:, 0] * prior[:, 1], axis=1), -1, 1))
    assert 300 < EARTH_RADIUS_KM * np.median(steps) < 3000


@pytest.mark.parametrize("x64", [True, False])
def test_traced_requests_are_those_of_arrays(x64):
    expected = MODEL.condition(X[:2], Y[:2]).log_prob(X[2:], Y[2:])

    def nats(x, y):
        return MODEL.condition(x[:2], y[:2]).log_prob(x[2:], y[2:])

    with jax.enable_x64(x64):
        x, y = (jnp.asarray(v, jnp.result_type(float)) for v in (X, Y))
        value = jax.jit(nats)(x, y)
        assert value.dtype == jnp.result_type(float)
        law = MODEL.condition(x[:2], y[:2])
        draw = jax.jit(lambda x: law.sample(x, key=jr.key(0), num_samples=2))(x)
    assert_allclose(value, expected, rtol=1e-9 if x64 else 1e-4)
    assert draw.shape == (2, 4, 3)


def test_files_hold_laws_of_tracks(tmp_path):
    flat = MixtureProcess((flat_model(), flat_model(4.0)), np.log([0.3, 0.7]))
    model = ChartModel(flat, LocalFrame(), START).with_variables("hours", ("lat", "lon"))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.frame == model.frame
    table = pd.DataFrame(
        {"hours": X[:, 0], "lat": [-10, -11, -13, -16.0], "lon": [178, 179, -179, -178.0]}
    )
    law = again.condition(table[:2])
    assert_allclose(law.log_prob(table[2:]), model.condition(X[:2], Y[:2]).log_prob(X[2:], Y[2:]))
    assert_allclose(again.log_prob(X, Y), model.log_prob(X, Y))
    samples = law.sample(table[2:][["hours"]], key=0, num_samples=2)
    assert list(samples) == ["sample", "hours", "lat", "lon"]
    assert "LocalFrame" in repr(again)
    fixed = ChartModel(flat_model(d=1), FixedFrame(tuple(Y[0].tolist())), report="fitted")
    fixed.save(tmp_path / "fixed")
    loaded = load(tmp_path / "fixed")
    assert loaded.report == "fitted"
    assert_allclose(loaded.log_prob(X, Y), fixed.log_prob(X, Y))


def test_what_is_no_law_of_two_outputs_is_refused():
    one = ProcessModel(GP(Matern32(1.0)))
    with pytest.raises(ValueError, match="two outputs"):
        ChartModel(one, LocalFrame())
    with pytest.raises(ValueError, match="unit vector"):
        FixedFrame((1.0, 1.0, 0.0))
    with pytest.raises(ValueError, match="shape"):
        StartDensity(np.zeros((2, 2)), 1.0)
    names = name_variables(("t", "u"), ("e", "n"), "real")
    named = dataclasses.replace(flat_model(), variables=names)
    with pytest.raises(ValueError, match="expected names of 1 inputs, got 2"):
        ChartModel(named, LocalFrame()).with_variables(("a", "b"), ("lat", "lon"))
    with pytest.raises(ValueError, match="first point"):
        ChartModel(flat_model(), LocalFrame()).log_prob(X, Y)
