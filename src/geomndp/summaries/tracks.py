"""Samples of tracks on the Earth: Frechet mean and geodesic spread, with their errors in km.

Arrays are unit vectors (s, n, 3); tables have a latitude and a longitude in degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float
from geomndp.geometry import Sphere, frechet_mean
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_latlon, to_unit
from geomndp.summaries.moments import Estimate
from geomndp.summaries.samples import SAMPLE, frame_order, has_latlon, matched_latlon, unpack
from geomndp.tables import is_table, latlon_names
from geomndp.tables.pandas_adapter import is_frame

SPHERE = Sphere(2)
ITERATIONS = 20  # of the Frechet mean


class UnpackedTracks(NamedTuple):
    """Unit vectors (s, n, 3) and how results (n, 3) and (n,) are written."""

    y: Array
    wrap: Callable[..., Any]
    """Unit vectors as locations."""
    wrap_lengths: Callable[..., Any]
    """Numbers under a name, in km if nothing else is said."""


def unpack_tracks(samples: Any, fewest: int = 2) -> UnpackedTracks:
    """Take samples of tracks apart."""
    if not is_table(samples):
        unpacked = unpack(samples, fewest)
        y = jnp.asarray(unpacked.values[""])
        if y.ndim != 3 or y.shape[2] != 3:
            raise ValueError(f"expected unit vectors of shape (s, n, 3), got shape {y.shape}")
        SPHERE.check("samples", y.reshape(-1, 3))
        return UnpackedTracks(y, np.asarray, lambda values, name, units="km": np.asarray(values))
    if not has_latlon(samples):
        raise ValueError("expected samples of a latitude and a longitude, got other variables")
    lat, lon = latlon_names(samples)
    unpacked = unpack(matched_latlon(samples), fewest)
    shape = unpacked.values[lat].shape
    y = to_unit(unpacked.values[lat], unpacked.values[lon]).reshape(shape[0], -1, 3)

    def wrap(y: Any) -> Any:
        degrees = (np.asarray(part).reshape(shape[1:]) for part in to_latlon(np.asarray(y)))
        return unpacked.wrap(dict(zip((lat, lon), degrees, strict=True)))

    def wrap_lengths(values: Any, name: str, units: str = "km") -> Any:
        words = {"units": units, "long_name": name}
        return unpacked.wrap({name: np.asarray(values).reshape(shape[1:])}, **words)

    return UnpackedTracks(jnp.asarray(y), wrap, wrap_lengths)


def track_mean(samples: Any) -> Estimate:
    r"""Frechet mean of tracks at every point.

    By the central limit theorem of Bhattacharya and Patrangenaru (2005) the mean of s samples has
    the covariance $\Lambda^{-1} C \Lambda^{-1} / s$: C that of the samples in the tangent plane,
    $\Lambda$ the mean Hessian of $d^2 / 2$, which is 1 towards a sample at angle $\theta$ and
    $\theta \cot \theta$ across.

    Args:
        samples: Tracks: unit vectors (s, n, 3), or a table with a latitude and a longitude in
            degrees.

    Returns:
        The mean track, and the length in km of its standard error.
    """
    tracks = unpack_tracks(samples)
    mean, error = _mean_and_error(tracks.y)
    return Estimate(tracks.wrap(mean), tracks.wrap_lengths(error * EARTH_RADIUS_KM, "error"))


@jax.jit
def _mean_and_error(y: Float[Array, "s n 3"]) -> tuple[Array, Array]:
    mean = frechet_mean(SPHERE, y, iterations=ITERATIONS)
    centre = jnp.broadcast_to(mean[None], y.shape)
    v = SPHERE.to_tangent_coords(centre, SPHERE.log(centre, y))
    angle = jnp.sqrt(jnp.sum(v**2, axis=-1))
    covariance = jnp.einsum("sni,snj->nij", v, v) / (len(y) - 1)
    safe = jnp.where(angle > 1e-6, angle, 1.0)
    across = jnp.where(angle > 1e-6, safe / jnp.tan(safe), 1.0)
    towards = v / safe[..., None]
    outer = towards[..., :, None] * towards[..., None, :]
    eye = jnp.broadcast_to(jnp.eye(2, dtype=y.dtype), outer.shape)
    hessian = jnp.mean(across[..., None, None] * (eye - outer) + outer, axis=0)
    inverse = _inverse(hessian)
    spread = jnp.einsum("nij,njk,nki->n", inverse, covariance, inverse)
    return mean, jnp.sqrt(spread / len(y))


def _inverse(matrices: Float[Array, "n 2 2"]) -> Float[Array, "n 2 2"]:
    """Inverses in closed form: batched LAPACK solves may wait for each other (`linalg.factors`)."""
    a, b, c, d = (matrices[:, i, j] for i in range(2) for j in range(2))
    adjugate = jnp.stack([jnp.stack([d, -b], axis=1), jnp.stack([-c, a], axis=1)], axis=1)
    return adjugate / (a * d - b * c)[:, None, None]


def track_spread(samples: Any) -> Estimate:
    """Root mean square distance of the samples from their Frechet mean, at every point.

    Args:
        samples: Tracks: unit vectors (s, n, 3), or a table with a latitude and a longitude in
            degrees.

    Returns:
        The spread in km, and its standard error.
    """
    tracks = unpack_tracks(samples)
    lengths = (part * EARTH_RADIUS_KM for part in _spread_and_error(tracks.y))
    return Estimate(*(tracks.wrap_lengths(part, "spread") for part in lengths))


@jax.jit
def _spread_and_error(y: Float[Array, "s n 3"]) -> tuple[Array, Array]:
    mean = frechet_mean(SPHERE, y, iterations=ITERATIONS)
    squares = SPHERE.distance(y, jnp.broadcast_to(mean[None], y.shape)) ** 2
    spread = jnp.sqrt(jnp.sum(squares, axis=0) / (len(y) - 1))
    safe = jnp.where(spread > 0, spread, 1.0)
    return spread, jnp.std(squares, axis=0, ddof=1) / (2 * safe * len(y) ** 0.5)


def distance_to(samples: Any, lat: float, lon: float) -> Any:
    """Great-circle distances of tracks to one location.

    Args:
        samples: Tracks: unit vectors (s, n, 3), or a table with a latitude and a longitude in
            degrees.
        lat: Latitude of the location in degrees.
        lon: Longitude of the location in degrees.

    Returns:
        Distances (s, n) in km, in the form of the samples.

    Raises:
        ValueError: If the latitude is beyond 90 degrees.
    """
    if not abs(lat) <= 90:
        raise ValueError(f"expected a latitude from -90 to 90, got {lat}")
    tracks = unpack_tracks(samples, 1)
    target = jnp.asarray(to_unit(np.asarray(lat, float), np.asarray(lon, float)), tracks.y.dtype)
    away = SPHERE.distance(tracks.y, jnp.broadcast_to(target[None, None], tracks.y.shape))
    km = np.asarray(away * EARTH_RADIUS_KM)
    if not is_table(samples):
        return km
    names = latlon_names(samples)
    if is_frame(samples):
        ordered = samples.iloc[frame_order(samples)].drop(columns=list(names))
        return ordered.assign(distance=km.reshape(-1))
    like = samples[names[0]].transpose(SAMPLE, ...)
    about = {"units": "km", "long_name": f"distance to {lat:g} N, {lon:g} E"}
    distance = like.copy(data=km.reshape(like.shape)).rename("distance")
    distance.attrs = about
    return distance


class Approach(NamedTuple):
    """Smallest distance (s,) of every track to a location, in km, and when it is reached."""

    distance: np.ndarray
    time: np.ndarray


def closest_approach(samples: Any, lat: float, lon: float, time: Any = "time") -> Approach:
    """Closest approach of every track to one location, at its points.

    Args:
        samples: Tracks: unit vectors (s, n, 3), or a table with a latitude and a longitude in
            degrees.
        lat: Latitude of the location in degrees.
        lon: Longitude of the location in degrees.
        time: Name of the coordinate or column of times; for arrays the times (n,) themselves.

    Returns:
        Distances (s,) in km and their times (s,): both are samples, to be summarised.

    Example:
        `summaries.mean(summaries.closest_approach(tracks, 25.8, -80.2).distance)`
    """
    away = distance_to(samples, lat, lon)
    if not is_table(samples):
        times = np.asarray(time)
        _validation.shape("time", times, (away.shape[1],))
        nearest = np.argmin(away, axis=1)
        return Approach(away.min(axis=1), times[nearest])
    if is_frame(samples):
        if time not in away:
            raise ValueError(f"expected a column {time!r}, got {', '.join(map(repr, away))}")
        km = unpack(away, 1).values["distance"]
        times = np.asarray(away[time]).reshape(km.shape)[0]
    else:
        if away.ndim != 2 or time not in away.coords:
            raise ValueError(f"expected tracks over {time!r}, got dimensions {away.dims}")
        km, times = away.values, away[time].values
    return Approach(km.min(axis=1), times[np.argmin(km, axis=1)])
