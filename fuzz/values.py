"""Odd values for the arguments of public calls."""

from __future__ import annotations

from random import Random
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import xarray as xr

NUMBERS = (np.nan, np.inf, -np.inf, 1e30, -1e30, 1e300, 1e-320, 1e7, -1e5, 0.0, 3e38)
TEXTS = (
    "",
    "a",
    "nan",
    "0",
    "\x00",
    "x" * 3000,
    "ünïcode ☃",
    "None",
    "../..",
    "%s{}",
    "\n",
    "1e999",
)
NOTHINGS = (None, "text", [], {}, (), 0, object(), b"bytes", True, float("nan"), 3 + 2j, range(3))


def odd_array(random: Random, good: np.ndarray) -> Any:
    """Something else than the array of floats (n, k) that is expected."""
    make = random.choice(_ARRAYS)
    return make(random, np.array(good))


def _replaced(random: Random, good: np.ndarray) -> np.ndarray:
    """One entry is odd."""
    if good.size:
        good.flat[random.randrange(good.size)] = random.choice(NUMBERS)
    return good


def _reshaped(random: Random, good: np.ndarray) -> np.ndarray:
    n, k = good.shape
    shape = random.choice(
        [
            (),
            (n,),
            (n, k, 1),
            (1, n, k),
            (n, k + 1),
            (n, 0),
            (0, k),
            (0,),
            (n + 1, k),
            (k, n),
            (1, 1),
        ]
    )
    return np.zeros(shape)


def _typed(random: Random, good: np.ndarray) -> Any:
    dtypes = (
        "float16 float32 float64 longdouble int8 int64 uint8 bool complex64 complex128 object str "
        "S8 datetime64[ns] datetime64[D] timedelta64[s]"
    ).split()
    return good.astype("int64" if "64[" in (dtype := random.choice(dtypes)) else dtype).astype(
        dtype
    )


def _container(random: Random, good: np.ndarray) -> Any:
    masked = np.ma.masked_array(good, np.zeros(good.shape, bool))
    if good.size:
        masked.mask[random.randrange(len(good))] = True
    options = (
        lambda: good.tolist(),
        lambda: [[*row, 1.0] if i else row for i, row in enumerate(good.tolist())],
        lambda: masked,
        lambda: np.ma.masked_all(good.shape),
        lambda: np.asfortranarray(good),
        lambda: np.broadcast_to(good[:1], good.shape),
        lambda: good[::-1, ::-1],
        lambda: pd.DataFrame(good),
        lambda: pd.Series(good[:, 0]),
        lambda: xr.DataArray(good),
        lambda: xr.DataArray(good, dims=("a", "b"), name="c"),
        lambda: iter(good),
        lambda: {"x": good},
        lambda: np.array([None] * len(good)),
        lambda: np.array([("a", 1.0)] * len(good), dtype=[("n", "U1"), ("v", "f8")]),
        lambda: jnp.asarray(good, jnp.bfloat16),
        lambda: jnp.asarray(good, jnp.int32),
        lambda: memoryview(np.ascontiguousarray(good)),
    )
    return random.choice(options)()


_ARRAYS = (
    _replaced,
    _replaced,
    _reshaped,
    _typed,
    _container,
    lambda random, good: good * random.choice([1e8, 1e20, 1e-30, -1e3, 0.0]),
    lambda random, good: good + random.choice([1e7, -1e12, 1e20]),
    lambda random, good: random.choice(NOTHINGS),
    lambda random, good: np.repeat(good[:1], len(good), axis=0) if len(good) else good,
)


def odd_noise(random: Random, n: int) -> Any:
    """Something else than a variance or n of them."""
    options = (-1.0, np.nan, np.inf, 1e30, 1e-300, 1e-9, 100.0, "a", None, [0.1], [], {}, 1j, True)
    arrays = (
        np.zeros(n + 1),
        np.zeros((n, 1)),
        -np.ones(n),
        np.full(n, 1e-8),
        np.zeros(0),
        [0.1] * n,
    )
    return random.choice(
        (*options, *arrays, np.arange(n), np.array(["a"] * n), object(), -0.0, 1 << 80)
    )


def odd_key(random: Random) -> Any:
    """Something else than a key; whole numbers are taken."""
    options = (
        None,
        0,
        -1,
        7,
        2**31,
        2**70,
        "a",
        1.5,
        True,
        [1],
        np.uint32(3),
        np.zeros(2, np.uint32),
    )
    return random.choice((*options, jr.PRNGKey(0), jr.split(jr.key(0)), jnp.zeros(2), jr.key(1)))


def odd_count(random: Random) -> Any:
    """Something else than a number of samples or steps."""
    return random.choice((0, -1, 2.0, 1.5, "2", None, True, np.int64(2), [2], np.nan, -(1 << 70)))
