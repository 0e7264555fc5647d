"""Proper scores of samples against what was then observed, each with its Monte Carlo error.

Real values are scored with fair estimators (Ferro 2014), the energy score by `scoringrules`,
locations on the Earth with geodesic distances.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array
from geomndp.evaluate import crps as ensemble_crps, energy_score as geodesic_energy, mean_error
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit
from geomndp.summaries.moments import Estimate, without_overflow
from geomndp.summaries.samples import SAMPLE, frame_order, matched_latlon, unpack, unpack_real
from geomndp.summaries.tracks import SPHERE, unpack_tracks
from geomndp.tables import is_table, latlon_names
from geomndp.tables.xarray_adapter import is_data_array, is_dataset

GROUPS = 20  # of the jackknife


def crps(samples: Any, truth: Any) -> Estimate:
    """Continuous ranked probability score at every location, in the units of the values."""
    unpacked = unpack_real(samples, 3)
    observed = _truth(samples, truth, unpacked.values)
    pairs = {n: _error_too(ensemble_crps, v, observed[n]) for n, v in unpacked.values.items()}
    value, error = ({name: pair[i] for name, pair in pairs.items()} for i in range(2))
    about = {"long_name": "continuous ranked probability score", "standard_name": ""}
    return Estimate(unpacked.wrap(value, **about), unpacked.wrap(error, **about))


def energy_score(samples: Any, truth: Any) -> Estimate:
    """Energy score of the whole function, all its locations and outputs together: one number."""
    import scoringrules as sr

    values, y = _joint(samples, truth)
    return Estimate(
        *_error_too(lambda v, y: sr.es_ensemble(y, v, estimator="fair", backend="numpy"), values, y)
    )


def variogram_score(samples: Any, truth: Any, order: float = 0.5) -> Estimate:
    r"""Variogram score of the whole function (Scheuerer and Hamill 2015): it sees correlations.

    The fair estimator: the sum over all pairs of values of $(\bar v - v_y)^2 - s_v^2 / s$ with the
    mean and variance over s samples of $v = |y_i - y_j|^p$, so that its mean does not depend on s.
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
    """Energy score with geodesic distance at every point of a track, in km."""
    return _geodesic(geodesic_energy, samples, truth, "energy_score")


def track_mean_error(samples: Any, truth: Any) -> Estimate:
    """Distance in km from the samples' Frechet mean to the truth, at every point."""
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
    degrees = _truth(samples, truth, {name: values[name] for name in (lat, lon)})
    return np.asarray(to_unit(degrees[lat], degrees[lon])).reshape(-1, 3)


def _joint(samples: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """Everything a sample says as one vector."""
    unpacked = unpack_real(samples, 3)
    observed = _truth(samples, truth, unpacked.values)
    names = list(unpacked.values)
    values = [unpacked.values[name].reshape(len(unpacked.values[name]), -1) for name in names]
    return np.concatenate(values, axis=1), np.concatenate([observed[n].reshape(-1) for n in names])


def _truth(samples: Any, truth: Any, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Observed values in the order of the samples' locations."""
    samples, truth = _same_form(samples, truth, list(values))
    columns = {}
    for name, array in values.items():
        if not is_table(truth):
            observed = _validation.as_array("the truth", truth)
        elif name not in truth:
            raise ValueError(f"expected {name!r} in the truth, got {', '.join(map(repr, truth))}")
        else:
            read = _from_dataset if is_dataset(truth) else _from_frame
            observed = read(samples, truth, name)
        if observed.shape != array.shape[1:]:
            raise ValueError(f"expected the truth of shape {array.shape[1:]}, got {observed.shape}")
        if observed.dtype.kind not in "fiub":
            raise ValueError(f"expected a truth of numbers, got {observed.dtype}")
        columns[name] = observed.astype(float)
        _validation.finite_rows("truth", columns[name])
    return columns


def _same_form(samples: Any, truth: Any, names: list[str]) -> tuple[Any, Any]:
    """Samples and truth as two Datasets or two DataFrames, or a truth that is an array."""
    single = is_data_array(samples)
    if is_data_array(truth) and (single or is_dataset(samples)):
        # One variable, with the name of the samples' one if it has none of its own.
        name = names[0] if single or truth.name is None else str(truth.name)
        truth = truth.to_dataset(name=name)
    elif single and is_dataset(truth) and samples.name in truth:
        truth = truth.rename({samples.name: names[0]})
    samples = samples.to_dataset(name=names[0]) if single else samples
    if is_table(truth) and _form(truth) != _form(samples):
        form = f"the truth in the form of the samples, {_form(samples)}"
        raise ValueError(f"expected {form}, got {_form(truth)}")
    if not is_table(truth) and len(names) > 1:
        raise ValueError(f"expected a table with the truth of {', '.join(names)}, got an array")
    return samples, truth


def _form(table: Any) -> str:
    return type(table).__name__ if is_table(table) else "array"


def _from_dataset(samples: Any, truth: Any, name: str) -> np.ndarray:
    dims = [dim for dim in samples[name].transpose(SAMPLE, ...).dims if dim != SAMPLE]
    if set(truth[name].dims) != set(dims):
        raise ValueError(f"expected the truth over {dims}, got {truth[name].dims}")
    for key, here in samples[name].coords.items():
        there = truth[name].coords.get(key)
        if there is None or not here.dims or not set(here.dims) <= set(dims):
            continue
        same_dims = set(here.dims) == set(there.dims)
        there = there.transpose(*here.dims) if same_dims else there
        _same_places(str(key), here.values, there.values)
    return truth[name].transpose(*dims).values


def _from_frame(samples: Any, truth: Any, name: str) -> np.ndarray:
    outputs = unpack(samples, 1).values
    first = samples.iloc[frame_order(samples)[: next(iter(outputs.values())).shape[1]]]
    for key in (key for key in truth if key in samples and key not in (SAMPLE, *outputs)):
        _same_places(str(key), first[key].to_numpy(), truth[key].to_numpy())
    return np.asarray(truth[name])


def _same_places(name: str, here: np.ndarray, there: np.ndarray) -> None:
    """Refuse a truth at other locations, by the coordinates or columns that both have."""
    same = here.shape == there.shape
    if same:
        missing = (here != here) & (there != there)
        same = bool(np.all((here == there) | missing))
    if not same:
        raise ValueError(f"expected the truth at the samples' locations, got other {name!r}")


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
