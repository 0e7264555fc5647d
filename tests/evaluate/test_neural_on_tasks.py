"""Neural processes on the tasks of a table: the same numbers as by their own laws."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.baselines.neural_processes.anp import ANP
from geomndp.baselines.neural_processes.conv_cnp import ConvCNP
from geomndp.evaluate import on_tasks

UNITS = gn.data.Normaliser(x_shift=(3.0,), x_scale=(2.0,), y_shift=(-1.0,), y_scale=(5.0,))
GRID = {"extent": 2.0, "points_per_unit": 4.0, "num_layers": 1, "width": 2, "margin": 0.5}
SMALL = {"width": 4, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
TASKS = [
    {"kind": "all", "function": name, "context": [0, 2], "target": [1, 3, 4]} for name in ("a", "b")
]


def table(width: float) -> pd.DataFrame:
    """Two functions far apart, each over a range."""
    rng = np.random.default_rng(0)
    starts = {"a": 0.0, "b": 500.0}
    frames = [
        pd.DataFrame({"function": name, "t": start + np.linspace(0, width, 5), "level": level})
        for (name, start), level in zip(starts.items(), rng.normal(size=(2, 5)), strict=True)
    ]
    return pd.concat(frames, ignore_index=True)


def test_functions_wider_than_the_grid_have_the_densities_of_their_laws():
    process = ConvCNP(1, 1, **GRID, dtype="float32", key=jr.key(0))
    model = gn.ProcessModel(process, UNITS).with_variables("t", "level")
    data = table(60.0)  # 30 in the model's units
    measured = on_tasks(model, data, TASKS)
    for row, (_, rows) in enumerate(data.groupby("function")):
        context, targets = (
            rows[["t", "level"]].iloc[TASKS[0][part]] for part in ("context", "target")
        )
        nats = model.condition(context).log_prob(targets) / 3
        assert_allclose(measured.values["joint"][row], nats, rtol=1e-5)


def test_single_values_of_a_latent_variable_have_the_densities_of_their_marginals():
    process = ANP(1, 1, **SMALL, dtype="float32", prediction_samples=4, key=jr.key(0))
    model = gn.ProcessModel(process, UNITS)
    rng = np.random.default_rng(0)
    law = model.condition(rng.normal(size=(3, 1)), rng.normal(size=(3, 1)))
    x, y = rng.normal(size=(2, 4, 1))
    want = law.marginals(x, key=1).log_prob(jnp.asarray(y))[:, 0]
    assert_allclose(law.marginal_log_prob(x, y, key=1), want, rtol=1e-5)
    measured = on_tasks(model.with_variables("t", "level"), table(2.0), TASKS)
    assert np.isfinite(measured.values["marginal"]).all()
