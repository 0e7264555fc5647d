"""The law of a model given the observations of a page, of few shapes, so that little is compiled.

Observations are padded to one of a few numbers, with a mask: another point then takes the same
program, and results differ by rounding alone.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from geomndp._arrays import keep_float64
from geomndp.gp import AbstractGP
from geomndp.model import Posterior
from geomndp.model.base import AbstractModel
from geomndp.model.process_posterior import ProcessPosterior
from geomndp.play.requests import Request
from geomndp.play.scene import GLOBE, Scene
from geomndp.samplers.problem import pad_observations
from geomndp.tables import noise_from_km

SIZES = (16, 64, 256, 512)
"""Numbers of observations after padding."""


def condition(model: AbstractModel, scene: Scene, request: Request, *, pad: bool = True) -> Any:
    """The law of a model given the observations of a request.

    Args:
        model: Model of the scene, or the exact process in its place.
        scene: What is drawn.
        request: The observations.
        pad: Whether to pad them.

    Returns:
        The posterior; the prior where nothing is observed.
    """
    if not len(request.x):
        return model.condition()
    square: Any = noise_from_km if scene.kind == GLOBE else np.square
    present = ~np.isnan(request.y)
    y = scene.variables.to_values(np.where(present, request.y, 0.0))
    mask = None if present.all() else present.astype(np.float64)
    x = scene.variables.to_inputs(request.x)
    posterior = model.condition(x, y, noise=square(request.std), mask=mask)
    return padded(posterior) if pad else posterior


def padded(posterior: Any) -> Any:
    """A posterior whose observations are padded, where it allows that."""
    if isinstance(posterior, ProcessPosterior):
        pads = isinstance(posterior.model.process, AbstractGP)
    else:
        pads = isinstance(posterior, Posterior) and posterior.model.score.pads
    if not pads:
        return posterior
    observed = posterior.observations
    size = next((size for size in SIZES if size >= len(observed.x)), 0)
    apart = observed.mask is not None and observed.mask.ndim == 2  # rows of targets take them in
    if not size or apart:
        return posterior
    with keep_float64(observed.x):
        return dataclasses.replace(posterior, observations=pad_observations(observed, size))
