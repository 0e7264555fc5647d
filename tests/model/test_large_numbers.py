"""Large inputs and values keep their digits on the way into the units of a float32 model."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import MixtureProcess, Model, ProcessModel, build
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.model.units import read_target_inputs
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

START = 1.1e6  # hours since 1900, in the year 2025
HOURS = START + np.arange(6) / 12  # every five minutes; float32 has steps of 7.5 minutes here
PASCALS = 1e7 + np.arange(6) / 8  # float32 has steps of 1 here
UNITS = Normaliser(x_shift=START, x_scale=0.25, y_shift=1e7, y_scale=0.5)


@pytest.fixture(autouse=True)
def single():
    """Arithmetic of a user who has not asked for float64."""
    with jax.enable_x64(False):
        yield


def scaled(values, shift, scale):
    return ((values - shift) / scale)[:, None]


@pytest.mark.parametrize("kind", ["arrays", "frame"])
def test_observations_and_places(kind):
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    model = Model(noising, GaussianScore(GP(SquaredExponential(1.0))), normaliser=UNITS)
    model = model.with_variables("time", "pressure", units={"time": "hours since 1900-1-1"})
    if kind == "frame":
        posterior = model.condition(pd.DataFrame({"time": HOURS, "pressure": PASCALS}))
        locations = pd.DataFrame({"time": HOURS})
    else:
        posterior = model.condition(HOURS[:, None], PASCALS[:, None])
        locations = HOURS[:, None]
    seen = posterior.observations
    assert seen.x.dtype == seen.y.dtype == jnp.float32
    assert_allclose(seen.x, scaled(HOURS, START, 0.25), rtol=1e-6, atol=1e-6)
    assert_allclose(seen.y, scaled(PASCALS, 1e7, 0.5), rtol=1e-6, atol=1e-6)
    assert_allclose(read_target_inputs(posterior, locations), seen.x, rtol=0)


def test_a_density_beyond_single_precision_is_an_error():
    """It was found in double precision, and must not become minus infinity in silence."""
    process = ProcessModel(GP(SquaredExponential(1.0), noise=0.01))
    for law in (process, MixtureProcess((process, process))):
        with pytest.raises(FloatingPointError, match="the log-density became -inf"):
            law.log_prob(np.zeros((1, 1)), np.full((1, 1), 1e20))


def test_functions_of_a_recipe():
    rng = np.random.default_rng(0)
    shape = (3, 6)
    data = xr.Dataset(
        {"pressure": (("function", "step"), 1e7 + rng.integers(0, 64, shape) / 64)},
        {"time": ("step", HOURS)},
    )
    sizes = {"width": 8, "num_layers": 1, "num_heads": 2}
    plan = build(data, "none", key=jr.key(0), **sizes)
    units, functions = plan.model.normaliser, plan.data.functions
    (x_shift,), (x_scale,) = units.x_shift, units.x_scale
    assert functions.x.dtype == jnp.float32
    assert_allclose(functions.x[0], scaled(HOURS, x_shift, x_scale), rtol=1e-6, atol=1e-6)
    assert_allclose(np.std(np.asarray(functions.y)), 1.0, rtol=1e-5)
