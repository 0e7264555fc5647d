"""Exact models with names, and tables of their own functions."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from geomndp import Model
from geomndp.data import Normaliser
from geomndp.geometry import Sphere
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.nets import RelativeAttention, SphericalAttention
from geomndp.noising import Brownian, LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore, NetworkScore, PreconditionK

SHIFT, SCALE = 15.0, 5.0  # of temperatures
HOURS = 6.0  # of the model's unit of time


@pytest.fixture
def gp():
    """The process in the model's units."""
    return GP(SquaredExponential(1.5), noise=0.01)


@pytest.fixture
def stations(gp):
    """Exact model of temperatures in time, in the data's units."""
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    units = Normaliser(x_scale=HOURS, y_shift=SHIFT, y_scale=SCALE)
    model = Model(noising, GaussianScore(gp), normaliser=units)
    return model.with_variables(
        "time", "temperature", units={"time": "hours", "temperature": "degC"}
    )


@pytest.fixture
def learnt(stations):
    net = RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    return dataclasses.replace(stations, score=NetworkScore(net, conditional=True))


@pytest.fixture
def tracks():
    """Untrained model of tracks: any score on the sphere serves."""
    net = SphericalAttention(width=8, num_layers=1, num_heads=2, key=jr.key(0))
    score = NetworkScore(net, PreconditionK(), conditional=True)
    model = Model(Brownian(Sphere(2), LinearSchedule(1e-4, 15.0)), score)
    return model.with_variables("time", ("lat", "lon"), units={"time": "days"})


@pytest.fixture
def readings():
    """Temperatures at datetimes."""
    time = pd.date_range("2024-03-01 06:00", periods=5, freq="3h")
    return pd.DataFrame({"time": time, "temperature": [14.0, 16.5, 18.5, 19.0, 18.0]})


@pytest.fixture
def fixes():
    """A storm in degrees."""
    time = pd.date_range("2024-09-01", periods=4, freq="6h", name="time")
    lat, lon = [10.0, 11.0, 12.5, 13.0], [178.0, 179.5, -179.0, -178.0]
    return pd.DataFrame({"lat": lat, "lon": lon}, index=time)


@pytest.fixture
def grid():
    """A CF grid in time."""
    time = xr.date_range("2024-03-01", periods=4, freq="4h", use_cftime=False)
    grid = xr.Dataset(coords={"time": time, "height": 2.0}, attrs={"title": "mast"})
    grid.time.attrs.update(standard_name="time", axis="T")
    grid.height.attrs.update(units="m")
    return grid


def arrays(frame: pd.DataFrame):
    """What the readings mean: hours since the first, degrees."""
    hours = (frame.time - frame.time.iloc[0]).dt.total_seconds().to_numpy() / 3600
    return jnp.asarray(hours[:, None]), jnp.asarray(np.asarray(frame[["temperature"]]))
