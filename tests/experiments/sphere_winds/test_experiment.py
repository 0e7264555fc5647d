"""The experiment of winds on a small made-up archive."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.data import Batch, Normaliser, fibonacci
from geomndp.experiments.registry import find
from geomndp.experiments.sphere_fields.winds import FILE
from geomndp.experiments.sphere_winds.climatology import MONTHLY_FILE
from geomndp.experiments.sphere_winds.evaluate import (
    axial_metrics,
    evaluate,
    evaluate_tasks,
    sample_scores,
)
from geomndp.experiments.sphere_winds.experiment import MODELS
from geomndp.experiments.sphere_winds.measure import denoiser_mean
from geomndp.experiments.sphere_winds.report import report
from geomndp.experiments.sphere_winds.stored import stored_gp
from geomndp.experiments.sphere_winds.training import make_generator, make_model
from geomndp.experiments.sphere_winds.units import SCALE
from geomndp.geometry import Exact
from geomndp.geometry.geodesy import to_unit
from geomndp.gp import GP
from geomndp.kernels import Diagonal, SphereDivergenceFree, White, ZonalExponential
from geomndp.likelihood import Flow
from geomndp.model import Model, load
from geomndp.noising import DEFAULT_SCHEDULE, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

TINY = {"channels": 4, "width": 8, "num_layers": 1, "num_radial": 4, "max_neighbours": 16}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    lat, lon = np.linspace(90, -90, 7), np.arange(0.0, 360.0, 45.0)
    time = np.array(["2018-01-01", "2018-06-01", "2026-07-01", "2026-08-01"], "datetime64[ns]")
    random = np.random.default_rng(0)
    values = {n: (("time", "lat", "lon"), 4 * random.normal(size=(4, 7, 8))) for n in "uv"}
    path = tmp_path_factory.mktemp("weather")
    xr.Dataset(values, {"time": time, "lat": lat, "lon": lon}).to_netcdf(path / FILE)
    months = np.arange("1990-01", "1992-01", dtype="datetime64[M]").astype("datetime64[ns]")
    values = {n: (("time", "lat", "lon"), random.normal(size=(24, 7, 8))) for n in "uv"}
    monthly = xr.Dataset(values, {"time": months, "lat": lat, "lon": lon})
    monthly.to_netcdf(path / MONTHLY_FILE)
    return str(path)


def test_training_fields_are_in_units_of_the_model(folder, getkey):
    generator = make_generator(MODELS[0], 4, folder, points=20)
    batch = generator.draw(getkey())
    assert batch.x.shape == (4, 20, 3) and batch.y.shape == (4, 20, 2)
    assert 0.5 < float(np.std(batch.y)) < 1.5
    assert find(MODELS[0]).name == "sphere-winds"


def test_models_know_the_axis(tmp_path):
    plain, residual = (make_model(name, key=jr.key(0), **TINY) for name in MODELS)
    assert plain.score.net.config.axial and residual.score.base is not None
    assert plain.normaliser.y_scale == (SCALE, SCALE)
    residual.save(tmp_path / "model")  # with the tables of its base and of its limit
    x = jnp.asarray(to_unit(np.array([60.0, -30.0]), np.array([20.0, -179.5])), "float32")
    back, y = load(tmp_path / "model"), jnp.ones((2, 2), jnp.float32)
    assert_array_equal(back.noising.gram(x).diagonal(), residual.noising.gram(x).diagonal())
    for found, expected in zip(
        *(m.score.net_inputs(m.noising, jnp.float32(0.3), x, y)[:3] for m in (back, residual)),
        strict=True,
    ):
        assert_allclose(found, expected, atol=1e-6)
    with pytest.raises(ValueError, match="model"):
        make_model("sphere-winds/era5", key=jr.key(0))


@pytest.mark.parametrize("samples", [19, 64])
def test_scores_do_not_depend_on_the_number_of_samples(samples):
    """Of a standard normal law: mean square 2, CRPS 1 / sqrt(pi), 90% of the values covered."""
    random = np.random.default_rng(2)
    drawn, truth = random.normal(size=(samples, 20_000, 2)), random.normal(size=(20_000, 2))
    square, crps, energy, covered = sample_scores(drawn, truth)
    assert_allclose((square, crps), (2, np.pi**-0.5), atol=0.03)
    assert_allclose(energy, np.sqrt(np.pi) / 2, atol=0.02)  # E|X - X'| / 2 in the plane
    assert_allclose(covered, 0.9, atol=0.005)


def test_mean_of_the_denoiser_at_time_one_is_that_of_the_exact_posterior(getkey):
    process = GP(SphereDivergenceFree(ZonalExponential(0.5)), noise=0.1)
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), DEFAULT_SCHEDULE)
    units = Normaliser(y_scale=(SCALE, SCALE))
    model = Model(noising, GaussianScore(process), normaliser=units)
    x = fibonacci(16)
    y = process.sample(jnp.asarray(x), key=getkey())[:8]
    exact = process.condition(jnp.asarray(x[:8]), y).mean(jnp.asarray(x[8:]))
    found = denoiser_mean(model, jnp.asarray(x), SCALE * y, key=getkey())
    assert_allclose(found, SCALE * np.asarray(exact), atol=0.1 * SCALE)
    assert np.std(exact) > 0.2


@pytest.mark.slow
def test_an_untrained_residual_is_its_process(getkey):
    """Conditional likelihoods in m/s, of the base's score and of the process itself."""
    random = np.random.default_rng(1)
    x = random.normal(size=(2, 8, 3))
    x /= np.linalg.norm(x, axis=2, keepdims=True)
    y = 4 * random.normal(size=(2, 8, 2))
    context = np.tile(np.arange(8) < 4, (2, 1)).astype(float)
    tasks = Batch(x, y, np.ones((2, 8)), context)
    model = make_model(MODELS[1], key=getkey(), **TINY)
    score = GaussianScore(stored_gp())
    exact = Model(model.noising, score, normaliser=model.normaliser)
    options = {"samples": 2, "sampler": Amortised(4), "batch_size": 2}
    options |= {"flow": Flow(divergence=Exact())}
    corrected = dataclasses.replace(model.score, conditional=True)
    for law in (exact, dataclasses.replace(model, score=corrected)):
        metrics = evaluate_tasks(law, tasks, 4, axial_metrics(tasks), **options)
        assert abs(metrics["regret"][0]) < 0.02 and metrics["num"] == 2
    arrays = (np.full(8, 0.3), x[0], y[0] / SCALE)
    args = (model.noising, *(jnp.asarray(array, jnp.float32) for array in arrays))
    assert_allclose(corrected(*args), score(*args), atol=2e-4)


def test_refusals_and_report(folder, monkeypatch):
    with pytest.raises(ValueError, match="region"):
        evaluate(
            make_model(MODELS[0], key=jr.key(0), **TINY),
            MODELS[0],
            region="everywhere",
            data=folder,
        )
    monkeypatch.delenv("GEOMNDP_DATA", raising=False)
    with pytest.raises(ValueError, match="GEOMNDP_DATA"):
        make_generator(MODELS[0], 2)
    row = {"log_prob": [-5.0, 0.1], "regret": [-0.4, 0.02], "rmse": 4.5, "crps": 1.8}
    row |= {"energy_score": 2.5, "coverage": 0.9}
    tables = report({"test": {"a law": {"200": row, "50": row}}})
    assert [len(table.rows) for table in tables] == [2] and "0.400" in tables[0].rows[0][3]
    few = {key: row[key] for key in ("log_prob", "regret", "rmse")}  # without samples
    assert report({"test": {"a law": {"50": few}}})[0].rows[0][4:] == ("4.500", "", "", "")
    assert report({}) == []
