"""Metrics of samples against what was then observed, each with its Monte Carlo error.

Real values are evaluated with fair estimators (Ferro 2014), the energy score by `scoringrules`,
locations on the Earth with geodesic distances.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array
from geomndp.evaluate import crps as ensemble_crps, energy_score as geodesic_energy, mean_error
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit
from geomndp.summaries.moments import Estimate, without_overflow
from geomndp.summaries.samples import matched_latlon, unpack, unpack_real
from geomndp.summaries.tracks import SPHERE, unpack_tracks
from geomndp.summaries.truth import true_values
from geomndp.tables import is_table, latlon_names

GROUPS = 20  # of the jackknife


def crps(samples: Any, truth: Any) -> Estimate:
    """Continuous ranked probability score at every location.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`.
        truth: What was observed: an array (...), or a table of the same type at the same
            locations.

    Returns:
        The metric and its Monte Carlo standard error, in the units of the values.

    Raises:
        ValueError: If the truth is at other locations, or there are fewer than three samples.

    Example:
        `summaries.crps(posterior.sample(targets, key=0), truth).value`
    """
    unpacked = unpack_real(samples, 3)
    observed = true_values(samples, truth, unpacked.values)
    pairs = {n: _error_too(ensemble_crps, v, observed[n]) for n, v in unpacked.values.items()}
    value, error = ({name: pair[i] for name, pair in pairs.items()} for i in range(2))
    about = {"long_name": "continuous ranked probability score", "standard_name": ""}
    return Estimate(unpacked.wrap(value, **about), unpacked.wrap(error, **about))


def energy_score(samples: Any, truth: Any) -> Estimate:
    """Energy score of the joint function: all its locations and outputs together.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`.
        truth: What was observed: an array (...), or a table of the same type at the same
            locations.

    Returns:
        The metric and its Monte Carlo standard error: one number, in the units of the values.
    """
    import scoringrules as sr

    values, y = _joint(samples, truth)
    return Estimate(
        *_error_too(lambda v, y: sr.es_ensemble(y, v, estimator="fair", backend="numpy"), values, y)
    )


def variogram_score(samples: Any, truth: Any, order: float = 0.5) -> Estimate:
    r"""Variogram score of the joint function (Scheuerer and Hamill 2015): it sees correlations.

    The fair estimator: the sum over all pairs of values of $(\bar v - v_y)^2 - s_v^2 / s$ with the
    mean and variance over s samples of $v = |y_i - y_j|^p$, so that its mean does not depend on s.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`.
        truth: What was observed: an array (...), or a table of the same type at the same
            locations.
        order: Exponent p of the variogram.

    Returns:
        The metric and its Monte Carlo standard error: one number.
    """
    values, y = _joint(samples, truth)
    return Estimate(*_error_too(lambda v, y: _variogram(v, y, order), values, y))


def _variogram(values: np.ndarray, y: np.ndarray, order: float) -> float:
    """One value against all others at a time: `scoringrules` needs memory for all pairs at once."""
    score = 0.0
    for i in range(len(y)):
        v = np.abs(values - values[:, i : i + 1]) ** order
        bias = v.mean(axis=0) - np.abs(y - y[i]) ** order
        score += np.sum(bias**2 - v.var(axis=0, ddof=1) / len(v))
    return float(score)


def track_energy_score(samples: Any, truth: Any) -> Estimate:
    """Energy score with geodesic distance at every point of a track.

    Args:
        samples: Tracks: unit vectors (s, n, 3), or a table with a latitude and a longitude in
            degrees.
        truth: What was observed: an array (...), or a table of the same type at the same
            locations.

    Returns:
        The metric and its Monte Carlo standard error, in km.
    """
    return _geodesic(geodesic_energy, samples, truth, "energy_score")


def track_mean_error(samples: Any, truth: Any) -> Estimate:
    """Distance from the samples' Frechet mean to the truth, at every point.

    Args:
        samples: Tracks: unit vectors (s, n, 3), or a table with a latitude and a longitude in
            degrees.
        truth: What was observed: an array (...), or a table of the same type at the same
            locations.

    Returns:
        The metric and its Monte Carlo standard error, in km.
    """
    return _geodesic(mean_error, samples, truth, "mean_error")


def _geodesic(measure: Callable, samples: Any, truth: Any, name: str) -> Estimate:
    tracks = unpack_tracks(samples, 3)
    y = jnp.asarray(_track(samples, truth), tracks.y.dtype)
    if y.shape != tracks.y.shape[1:]:
        raise ValueError(f"expected a track of {tracks.y.shape[1]} points, got shape {y.shape}")
    SPHERE.check("truth", y)

    def score(values, y):
        return np.asarray(_compiled(measure, jnp.asarray(values), y)) * EARTH_RADIUS_KM

    estimates = _error_too(score, np.asarray(tracks.y), y)
    return Estimate(*(tracks.wrap_lengths(part, name) for part in estimates))


@functools.partial(jax.jit, static_argnums=0)
def _compiled(measure: Callable, samples: Array, y: Array) -> Array:
    return measure(SPHERE, samples, y)


def _track(samples: Any, truth: Any) -> np.ndarray:
    if not is_table(samples):
        return np.asarray(truth)
    lat, lon = latlon_names(samples)
    samples = matched_latlon(samples)
    values = unpack(samples, 1).values
    degrees = true_values(samples, truth, {name: values[name] for name in (lat, lon)})
    return np.asarray(to_unit(degrees[lat], degrees[lon])).reshape(-1, 3)


def _joint(samples: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """Everything a sample says as one vector."""
    unpacked = unpack_real(samples, 3)
    observed = true_values(samples, truth, unpacked.values)
    names = list(unpacked.values)
    values = [unpacked.values[name].reshape(len(unpacked.values[name]), -1) for name in names]
    return np.concatenate(values, axis=1), np.concatenate([observed[n].reshape(-1) for n in names])


def _error_too(score: Callable, values: np.ndarray, y: Any) -> tuple[Any, Any]:
    """Score and error as finite numbers."""
    return without_overflow(lambda values: _jackknife(score, values, y), values)


def _jackknife(score: Callable, values: np.ndarray, y: Any) -> tuple[Any, Any]:
    r"""Score, and its error from leaving out a group of samples at a time (Efron 1982)."""
    groups = np.arange(len(values)) % min(GROUPS, len(values))
    left = np.stack([score(values[groups != g], y) for g in range(groups.max() + 1)])
    scale = (len(left) - 1) / len(left)
    error = np.sqrt(scale * np.sum((left - left.mean(axis=0)) ** 2, axis=0))
    return np.asarray(score(values, y)), error
