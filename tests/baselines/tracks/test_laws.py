"""Regression in a local frame and processes in charts, against what is known of them."""

import dataclasses
import subprocess
import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import baselines
from geomndp.baselines.tracks import chart_gp, local_frame, regression
from geomndp.geometry import Sphere
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential

from .helper import KNOWN, TARGETS, TIMES, tracks

SPHERE = Sphere(2)
CHARTS = (baselines.LatLon(), baselines.Stereographic())
chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda value: type(value).__name__)


def about_the_axis(angle):
    c, s = np.cos(angle), np.sin(angle)
    return jnp.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def test_local_coordinates_there_and_back(getkey):
    anchor, y = SPHERE.uniform(1, key=getkey())[0], SPHERE.uniform(6, key=getkey())
    c = jax.jit(local_frame.to_local)(anchor, y)
    assert_allclose(jax.jit(local_frame.from_local)(anchor, c), y, atol=1e-9)
    assert_allclose(jnp.linalg.norm(c, axis=1), SPHERE.distance(jnp.stack([anchor] * 6), y))


def test_area_of_local_coordinates_is_that_of_their_jacobian(getkey):
    anchor, c = SPHERE.uniform(1, key=getkey())[0], 0.5 * jr.normal(getkey(), (1, 2))
    jacobian = jax.jit(jax.jacfwd(lambda c: local_frame.from_local(anchor, c[None])[0]))(c[0])
    area = 0.5 * jnp.linalg.slogdet(jacobian.T @ jacobian)[1]
    assert_allclose(local_frame.log_area(c)[0], area, atol=1e-9)


def test_north_is_up():
    here = jnp.array([[0.0, 1.0, 0.0]])
    north_east = jnp.array([[-0.01, 1.0, 0.02]])
    found = jax.jit(local_frame.to_local)(here[0], SPHERE.retract(north_east))
    assert_allclose(found, [[0.01, 0.02]], rtol=1e-3)


def test_longitude_does_not_matter_to_the_regression():
    x, y = (jnp.asarray(value) for value in tracks(300))
    baseline = baselines.LinearGaussian.fit(x, y)
    turn = about_the_axis(2.0)

    @jax.jit
    def both(v):
        predictive = baseline.condition(x[0][KNOWN], v[KNOWN])
        return predictive.log_prob(x[0][TARGETS], v[TARGETS]), predictive.mean(x[0][TARGETS])

    (here, mean), (there, turned) = both(y[0]), both(y[0] @ turn)
    assert_allclose(here, there, atol=1e-6)
    assert_allclose(turned, mean @ turn, atol=1e-12)


def test_regression_finds_a_linear_law(getkey):
    """Targets that are linear in the features with Gaussian noise: coefficients and spread."""
    rng = np.random.default_rng(0)
    features = np.c_[np.ones(4000), rng.normal(size=(4000, 3))]
    truth = rng.normal(size=(4, 2))
    spread = np.array([0.02, 0.01])
    targets = features @ truth + spread * rng.normal(size=(4000, 2))
    none, all_targets = np.zeros(0), np.ones(1)
    found = regression.fit_on_host(features, targets, none, all_targets, heavy_tailed=False)
    assert_allclose(found[0], truth, atol=1e-3)
    assert_allclose(np.sort(found[2]), np.sort(spread**2), rtol=0.1)


def held_out_log_prob(heavy, heavy_tailed):
    x, y = (jnp.asarray(value) for value in tracks(900, heavy=heavy))
    baseline = baselines.LinearGaussian.fit(x[:600], y[:600], heavy_tailed=heavy_tailed)
    baseline = dataclasses.replace(baseline, density_noise=1e-9)

    def log_prob(v):
        return baseline.condition(x[0][KNOWN], v[KNOWN]).log_prob(x[0][TARGETS], v[TARGETS])

    return float(jnp.mean(jax.jit(jax.vmap(log_prob))(y[600:])))


@pytest.mark.slow
def test_scales_help_where_storms_differ_and_cost_little_where_not():
    assert held_out_log_prob(True, True) > held_out_log_prob(True, False) + 0.5
    assert abs(held_out_log_prob(False, True) - held_out_log_prob(False, False)) < 0.1


def test_scale_mixture_samples_have_its_variances():
    x, y = (jnp.asarray(value) for value in tracks(600, heavy=True))
    baseline = baselines.LinearGaussian.fit(x, y, heavy_tailed=True)
    known, targets = (baseline._rows(x[0][rows]) for rows in (KNOWN, TARGETS))
    roles = local_frame.choose_roles(known, None, targets, None)
    law = regression.fit_regression(
        roles, y[:, KNOWN], y[:, TARGETS], None, heavy_tailed=True
    ).residuals
    draws = jax.jit(lambda key: law.sample(key=key, num_samples=20_000) @ law.basis)(jr.key(0))
    scale = jnp.sum(jnp.exp(law.log_weights) * law.scales[None], axis=1)[law.band]
    assert_allclose(jnp.mean(draws**2, axis=0), scale * law.variances, rtol=0.15)


def test_beginnings_integrate_to_one(getkey):
    law = baselines.GenesisDensity.fit(SPHERE.uniform(30, key=getkey()))
    locations = SPHERE.uniform(20_000, key=jr.key(0))
    density = np.exp(np.asarray(jax.jit(jax.vmap(law.log_prob))(locations))) * 4 * np.pi
    assert abs(density.mean() - 1) < 4 * density.std() / np.sqrt(len(density))


def test_beginnings_are_drawn_from_their_density():
    from scipy.stats import kstest

    law = baselines.GenesisDensity(jnp.array([[0.0, 0.0, 1.0]]), jnp.asarray(3.0))
    draws = jax.jit(lambda key: law.sample(key=key, num_samples=4000))(jr.key(1))
    height = np.asarray(draws[:, 2])
    # On S^2 the height has density proportional to exp(3 z).
    result = kstest(height, lambda z: np.expm1(3 * (z + 1)) / np.expm1(6))
    assert result.pvalue > 1e-3


@chart
def test_chart_there_and_back_and_its_stretch(chart, getkey):
    y = SPHERE.uniform(7, key=getkey())
    u = jax.jit(chart.to_plane)(y)
    assert_allclose(jax.jit(chart.from_plane)(u), y, atol=1e-9)
    jacobian = jax.jit(jax.vmap(jax.jacfwd(lambda u: chart.from_plane(u[None])[0])))(u)
    metric = jnp.einsum("nai,naj->nij", jacobian, jacobian)
    expected = jax.vmap(jnp.diag)(chart.stretch(u) ** -2)
    assert_allclose(metric, expected, rtol=1e-6, atol=1e-12)


def test_latitude_beyond_a_pole_goes_down_the_other_side():
    u = jnp.array([[95.0, 10.0], [85.0, -170.0]])
    over, there = jax.jit(baselines.LatLon().from_plane)(u)
    assert_allclose(over, there, atol=1e-12)


def test_densities_of_a_process_chain():
    """log p(all) = log p(known) + log p(targets given known)."""
    x, y = (jnp.asarray(value) for value in tracks(200))
    process, path = baselines.ChartGP.fit(x, y, chart=CHARTS[1]), y[3]
    nothing, times = (x[0][:0], path[:0]), jnp.asarray(TIMES)
    everything = process.condition(*nothing).log_prob(times, path)
    known = process.condition(*nothing).log_prob(times[KNOWN], path[KNOWN])
    rest = process.condition(times[KNOWN], path[KNOWN]).log_prob(times[TARGETS], path[TARGETS])
    assert_allclose(known + rest, everything, rtol=1e-5)


def test_marginal_likelihood_finds_the_process():
    truth = GP(SquaredExponential(0.4, 2.0), noise=1e-3)
    x = jnp.asarray(TIMES)
    u = truth.sample(x, key=jr.key(0), num_samples=3000)[..., 0]
    found = chart_gp.fit_gp(TIMES[:, 0], np.asarray(u))
    assert_allclose(found.kernel.lengthscale, 0.4, rtol=0.05)
    assert_allclose(found.kernel.variance, 2.0, rtol=0.1)
    assert_allclose(found.noise, 1e-3, rtol=0.3)


def test_the_date_line_is_no_edge_to_a_process():
    x, y = (jnp.asarray(value) for value in tracks(200))
    process = baselines.ChartGP.fit(x, y)
    times, lon = x[0], 179 + 0.3 * np.arange(len(x[0]))
    path = baselines.LatLon().from_plane(jnp.asarray(np.stack([0 * lon + 10, lon], axis=-1)))
    mean = process.condition(times[KNOWN], path[KNOWN]).mean(times[TARGETS])
    assert jnp.max(SPHERE.distance(mean, path[TARGETS])) < 0.02


def test_regression_refuses_what_it_was_not_fitted_to():
    x, y = (jnp.asarray(value) for value in tracks(40))
    baseline = baselines.LinearGaussian.fit(x, y)
    with pytest.raises(ValueError, match="times of the tracks that were fitted"):
        baseline.condition(x[0][:2], y[0][:2]).mean(x[0][3:5] + 0.01)
    with pytest.raises(ValueError, match=r"expected more than \d+ tracks to fit"):
        baseline.condition(x[0][KNOWN], y[0][KNOWN]).mean(x[0][TARGETS])
    with pytest.raises(ValueError, match="tracks that share their times"):
        baselines.LinearGaussian.fit(x.at[0].add(1.0), y)


def test_double_precision_holds_where_it_is_enabled_for_one_thread():
    """As in the experiments, which enable it around a computation."""
    code = (
        "import jax, numpy as np, jax.numpy as jnp\n"
        "from geomndp.baselines.tracks.host_call import call_on_host\n"
        "with jax.enable_x64(True):\n"
        "    x = jnp.asarray(np.linspace(0, 1, 300_000))  # enough for a thread of its own\n"
        "    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)\n"
        "    call = lambda x: call_on_host(lambda v: v + 1e-12, shape, x)\n"
        "    assert np.array_equal(jax.jit(call)(x), np.asarray(x) + 1e-12)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow  # test_every_baseline.py has the densities of traced masks
@pytest.mark.parametrize("num_real", [0, 2])
def test_a_traced_mask_without_rows_is_the_prior(num_real, getkey):
    """As a concrete one is; also where some functions of a batch have a context and others none."""
    x, y = (jnp.asarray(value) for value in tracks(300))
    baseline, times, track = baselines.LinearGaussian.fit(x, y), x[0], y[0]
    key = getkey()

    def answers(context_x, context_y, mask):
        law = baseline.condition(context_x, context_y, mask=mask)
        targets, truth = times[TARGETS], track[TARGETS]
        samples = law.sample(targets, key=key, num_samples=3)
        return law.log_prob(targets, truth), law.mean(targets), samples

    context = times[KNOWN], track[KNOWN]
    first = jnp.arange(len(context[0])) < num_real
    masks = jnp.stack([first, jnp.ones_like(first)]).astype(y.dtype)
    many = jax.jit(jax.vmap(lambda mask: answers(*context, mask)))(masks)
    for found, expected in zip(many, answers(*context, masks[0]), strict=True):
        assert jnp.all(jnp.isfinite(expected))
        assert_allclose(found[0], expected, atol=1e-9)
