"""Data sets of a user: days of temperatures, tracks of storms, fields of wind."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr

from .helper import process


@pytest.fixture(scope="module")
def days():
    """Functions of different lengths at datetimes of their own; padding is NaN."""
    rng, (b, n) = np.random.default_rng(0), (30, 12)
    hours = np.sort(rng.uniform(0, 24, (b, n)), axis=1)
    keys = jr.split(jr.key(0), b)
    draw = jax.vmap(lambda x, key: process().sample(x, key=key))
    values = np.array(draw(jnp.asarray(hours)[:, :, None], keys)[..., 0])
    start = np.datetime64("2024-01-01", "ns") + np.arange(b)[:, None] * np.timedelta64(1, "D")
    time = start + (hours * 3.6e12).astype("timedelta64[ns]")
    values[::2, 8:] = np.nan
    about = {"units": "degC", "long_name": "air temperature"}
    dims = ("day", "reading")
    return xr.Dataset({"temperature": (dims, values, about)}, {"time": (dims, time)})


@pytest.fixture(scope="module")
def storms():
    rng, shape = np.random.default_rng(0), (25, 10)
    lat = 15 + np.cumsum(rng.normal(0.5, 0.2, shape), axis=1)
    lon = 179 + np.cumsum(rng.normal(0.5, 0.2, shape), axis=1)
    dims = ("function", "step")
    time = np.broadcast_to(6.0 * np.arange(10), shape)
    coords = {
        "time": (dims, time, {"units": "hours"}),
        "lat": (dims, lat, {"units": "degrees_north"}),
        "lon": (dims, lon, {"units": "degrees_east"}),
    }
    return xr.Dataset(coords=coords)


@pytest.fixture(scope="module")
def winds():
    """Vector fields and a scalar on one grid."""
    rng, shape = np.random.default_rng(0), (24, 5, 4)
    dims = ("function", "y", "x")
    data = {name: (dims, rng.normal(3, 2, shape), {"units": "m s-1"}) for name in "uv"}
    data["p"] = (dims, 1000 + rng.normal(size=shape), {"units": "hPa"})
    return xr.Dataset(data, {"y": np.arange(5.0), "x": np.arange(4.0)})
