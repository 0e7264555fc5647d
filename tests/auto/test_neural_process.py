"""Neural processes on a user's own table, by the calls of any model."""

import jax
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import geomndp as gn
from geomndp._types import Batch
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.conv_cnp import ConvCNP
from geomndp.baselines.neural_processes.te_tnp import TETNP
from geomndp.train import DenoisingLoss

TINY = {"width": 8, "num_layers": 1, "num_heads": 2, "bias_width": 4}
GRID = {"width": 4, "num_layers": 2, "points_per_unit": 8.0}


def table(num: int = 12, points: int = 10) -> pd.DataFrame:
    """Sine waves of random phase, in hours and degrees."""
    rng = np.random.default_rng(0)
    hours = np.tile(np.linspace(0, 24, points), (num, 1))
    temp = 15 + 4 * np.sin(hours / 4 + rng.uniform(0, 6, (num, 1)))
    days = np.repeat(np.arange(num), points)
    return pd.DataFrame({"day": days, "hour": hours.ravel(), "temp": temp.ravel()})


def build(method: str, **options):
    return gn.build(
        table(), function="day", inputs="hour", outputs="temp", method=method, **options
    )


@pytest.mark.parametrize("method", [pytest.param("te-tnp", marks=pytest.mark.slow), "ar-te-tnp"])
def test_it_is_trained_saved_loaded_and_conditioned_by_names(method, tmp_path):
    plan = build(method, batch_size=4, **TINY)
    assert "samples are independent" in str(plan)
    model, history = gn.fit(plan, steps=4, key=0, directory=tmp_path, quiet=True)
    assert np.isfinite(history.loss).all()
    again = gn.load(tmp_path)
    assert isinstance(again, gn.ProcessModel)
    kind = Autoregressive if method.startswith("ar-") else TETNP
    assert isinstance(again.process, kind)
    for got, want in zip(jax.tree.leaves(again), jax.tree.leaves(model), strict=True):
        assert_array_equal(got, want)
    day = table(1)
    law = again.condition(day[["hour", "temp"]].iloc[:4])
    samples = law.sample(day[["hour"]].iloc[4:], key=1, num_samples=2)
    assert list(samples.columns) == ["sample", "hour", "temp"]
    assert np.isfinite(law.log_prob(day[["hour", "temp"]].iloc[4:]))
    assert again.support.contexts > 0


def test_a_convolutional_one_has_a_grid_for_the_data():
    plan = build("convcnp", batch_size=4, **GRID)
    model, _ = gn.fit(plan, steps=2, key=0, quiet=True)
    hours = np.asarray([[0.0], [12.0], [24.0]])
    law = model.condition(hours, np.asarray([[15.0], [17.0], [14.0]]))
    assert np.isfinite(law.mean(np.linspace(0, 24, 5)[:, None])).all()


def fields(num: int = 3) -> pd.DataFrame:
    """Random vectors at the nodes of a small grid."""
    east, north = (v.ravel() for v in np.meshgrid(np.arange(3.0), np.arange(3.0)))
    values = np.random.default_rng(0).normal(size=(2, 9 * num))
    columns = {"east": np.tile(east, num), "north": np.tile(north, num)}
    columns |= {"u": values[0], "v": values[1]}
    return pd.DataFrame({"field": np.repeat(np.arange(num), 9), **columns})


SMALL = {"num_layers": 1, "points_per_unit": 1.0}
STEERABLE = {"symmetry": "E(2)", "representations": "vector", "num_fields": 1}


@pytest.mark.parametrize(
    ("method", "options", "size"),
    [
        ("convcnp", SMALL, 16),
        ("ar-convcnp", SMALL, 16),
        ("steercnp", SMALL | STEERABLE, 16),
        ("te-tnp", TINY, 64),
        ("convcnp", SMALL | {"batch_size": 5}, 5),
    ],
)
def test_batches_of_functions_on_a_plane_suit_a_cpu(method, options, size):
    names = {"function": "field", "inputs": ["east", "north"], "outputs": ["u", "v"]}
    plan = gn.build(fields(), method=method, **names, **options)
    assert plan.data.batch_size == size
    assert f"batches of {size} functions" in str(plan)


def test_a_product_grid_is_a_plane():
    assert build("convcnp", **GRID).data.batch_size == 64
    assert build("fullconvgnp", **GRID).data.batch_size == 16


@pytest.mark.parametrize("points", [10, 1])
def test_a_grid_is_as_wide_as_one_function_wherever_the_functions_are(points):
    apart = table(points=points)
    apart["hour"] += 24.0 * apart["day"]
    options = {"function": "day", "inputs": "hour", "outputs": "temp", "method": "convcnp"}
    plan = gn.build(apart, **options, width=4, num_layers=2)
    config, [scale] = plan.model.process.config, plan.model.normaliser.x_scale
    width = 24.0 if points > 1 else 24.0 * 11
    assert config.extent * scale == pytest.approx(width)
    assert config.extent * config.points_per_unit == pytest.approx(128)


def test_wavelengths_follow_the_points():
    config = build("te-tnp", **TINY).model.process.config
    spacing = 24 / 9 / np.std(table()["hour"])
    assert config.min_wavelength == pytest.approx(2 * spacing, rel=0.1)
    assert config.input_dim == config.output_dim == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cnp"}, "expected method to be one of 'geomndp', 'anp'"),
        ({"method": "te-tnp", "symmetry": "E(2)"}, "expected 2 inputs"),
        ({"method": "steercnp"}, r"expected symmetry 'E\(2\)' for steercnp"),
        ({"method": "te-tnp", "noise": 0.1}, "expected no known noise for te-tnp"),
        ({"method": "te-tnp", "depth": 3}, r"expected options for TETNP \(.*\), got 'depth'"),
        ({"method": "convcnp", "periodic": {"hour": 24}}, "expected data without periodic inputs"),
        ({"method": "convcnp", "covariates": "month"}, "expected data without covariates"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    given = {"function": "day", "inputs": "hour", "outputs": "temp", **options}
    with pytest.raises(ValueError, match=message):
        gn.build(table().assign(month=1.0), **given)


def test_tracks_on_the_sphere_are_refused():
    tracks = table().rename(columns={"temp": "lat"}).assign(lon=30.0)
    options = {"function": "day", "inputs": "hour", "outputs": ["lat", "lon"]}
    with pytest.raises(ValueError, match="expected codomain 'real' for te-tnp"):
        gn.build(tracks, codomain="sphere", method="te-tnp", **options)


def test_outputs_missing_apart_are_refused():
    data = table().assign(wind=lambda rows: np.sin(np.arange(len(rows))))
    data.loc[3, "wind"] = np.nan
    options = {"function": "day", "inputs": "hour", "method": "te-tnp"}
    with pytest.raises(ValueError, match="expected drop_missing=True for te-tnp"):
        gn.build(data, **options)
    assert gn.build(data, **options, drop_missing=True, **TINY).model.process.dim == 2


def test_a_fit_needs_steps_and_its_own_loss():
    plan = build("te-tnp", **TINY)
    with pytest.raises(ValueError, match=r"expected steps=\.\.\. for a plan of a neural process"):
        gn.fit(plan, key=0)
    with pytest.raises(ValueError, match="expected the loss of neural processes, got Denoising"):
        gn.fit(plan, steps=1, key=0, loss=DenoisingLoss())
    exact = gn.ProcessModel(gn.gp.GP(gn.kernels.SquaredExponential(1.0)))
    with pytest.raises(ValueError, match="expected a NetworkScore to train, got a ProcessModel"):
        gn.fit(exact, plan.data, steps=1, key=0)


def test_products_in_bfloat16_are_for_training_alone():
    plan = build("te-tnp", batch_size=4, compute_dtype="bfloat16", **TINY)
    assert plan.model.process.config.compute_dtype == "bfloat16"
    with jax.numpy_dtype_promotion("standard"):  # gradients of bfloat16 logits in float32
        model, _ = gn.fit(plan, steps=1, key=0, quiet=True)
    assert model.process.config.compute_dtype is None


def test_a_model_is_trained_on_a_batch_in_the_units_of_the_data():
    process = TETNP(1, 1, **TINY, key=jax.random.key(0))
    units = gn.data.Normaliser(x_shift=(12.0,), x_scale=(7.0,), y_shift=(15.0,), y_scale=(3.0,))
    data = table()
    x, y = (data[name].to_numpy().reshape(12, 10, 1) for name in ("hour", "temp"))
    batch = Batch(x, y, np.ones((12, 10)), np.zeros((12, 10)))
    model, _ = gn.fit(gn.ProcessModel(process, units), batch, steps=1, key=0, quiet=True)
    assert model.support.inputs[0][1] == pytest.approx(24, rel=0.01)
    assert model.support.contexts > 0


def test_a_grid_has_room_for_functions_of_a_batch():
    process = ConvCNP(1, 1, extent=2.0, margin=0.5, **GRID, key=jax.random.key(0))
    data = table()
    x, y = (data[name].to_numpy().reshape(12, 10, 1) for name in ("hour", "temp"))
    batch = Batch(x, y, np.ones((12, 10)), np.zeros((12, 10)))
    model, history = gn.fit(gn.ProcessModel(process), batch, steps=1, key=0, quiet=True)
    assert model.process.config.extent >= 24
    assert np.isfinite(history.loss).all()
