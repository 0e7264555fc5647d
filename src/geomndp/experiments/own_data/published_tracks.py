"""The published Gaussian process of tracks, rebuilt from its stored parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from geomndp import evaluate
from geomndp.baselines import AzimuthalGP
from geomndp.experiments.own_data.data_sets import FUNCTION, FunctionSet
from geomndp.experiments.own_data.published import fit_draws, stored_kernel
from geomndp.experiments.own_data.published_mean import FeatureMean
from geomndp.geometry.azimuthal import centre_of, to_map
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.gp import GP
from geomndp.tables import name_variables

MAP_UNIT_KM = 100.0


def published_tracks(function_set: FunctionSet) -> AzimuthalGP:
    """The pooled process in the map about the context's centre, with its mean drift."""
    options, model = function_set.options, function_set.published["gp"]
    variables = name_variables(options["inputs"], options["outputs"], "sphere")
    rows = evaluate.read_function_rows(function_set.training_table, variables, FUNCTION)
    tracks = [rows[name] for name in function_set.train]
    draws = fit_draws(function_set.name)
    draws.permutation(sum(len(track.x) for track in tracks))  # climatology came first
    order = draws.permutation(len(tracks))[max(6, min(25, round(0.2 * len(tracks)))) :]
    kernel, noise = stored_kernel(model, options, [])
    slope = _drift([tracks[row] for row in order]) if "mean drift" in model["choice"] else 0.0
    mean = FeatureMean(*_line(np.broadcast_to(slope, (2,))))
    return AzimuthalGP(GP(kernel, mean, noise), MAP_UNIT_KM / EARTH_RADIUS_KM)


def _drift(tracks: Sequence[Any]) -> np.ndarray:
    """Mean velocity of tracks in their own maps, by least squares."""
    moved, spread = np.zeros(2), 0.0
    for x, y in tracks:
        y = jnp.asarray(y)
        q = np.asarray(to_map(centre_of(y, None), y)) * EARTH_RADIUS_KM / MAP_UNIT_KM
        since = x - x.mean(axis=0)
        moved, spread = moved + since[:, 0] @ (q - q.mean(axis=0)), spread + np.sum(since**2)
    return moved / spread


def _line(slope: np.ndarray) -> tuple[Any, ...]:
    """Parameters of a `FeatureMean` that is a line through the origin."""
    weights = np.stack([np.zeros(2), slope])
    return np.zeros(1), np.ones(1), np.zeros(0), 1.0, weights
