"""The models of global winds, and how they are trained."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.data import ContextSampler, GlobeGenerator, Normaliser
from geomndp.experiments.sphere_fields.training import STEERABLE
from geomndp.experiments.sphere_fields.winds import TRAINING
from geomndp.experiments.sphere_winds.axial_gp import limiting_kernel
from geomndp.experiments.sphere_winds.climatology import seasonal_anomalies
from geomndp.experiments.sphere_winds.experiment import MODELS
from geomndp.experiments.sphere_winds.stored import stored_gp
from geomndp.experiments.sphere_winds.units import SCALE
from geomndp.gp import GP
from geomndp.kernels import (
    Diagonal,
    SphereCurlFree,
    SphereDivergenceFree,
    White,
    ZonalExponential,
)
from geomndp.model import Model
from geomndp.nets import SteerableSphere
from geomndp.noising import DEFAULT_SCHEDULE, OrnsteinUhlenbeck
from geomndp.score import NetworkScore, Velocity
from geomndp.train import DenoisingLoss, adam, default_loss

POINTS, FEWEST_POINTS = 400, 200  # of a training field: tasks of 200 and 50 stations have 400, 250
RADIUS, NEIGHBOURS = 0.38, 32  # two lengthscales in radians: 14 of 400 points are nearer
MOST_STATIONS = 250
CORRECTION = {"channels": 16, "num_layers": 3}
"""The network of the residual model: a small one, since there are 101 correlated fields."""


def hodge_gp() -> GP:
    """The process of maximum likelihood of the training times, as `fit_sphere_gp` finds it."""
    rotation = SphereDivergenceFree(ZonalExponential(0.1886), 11.71)
    gradient = SphereCurlFree(ZonalExponential(0.1895), 2.45)
    return GP(rotation + gradient, noise=4.26)


def make_model(
    name: str, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> Model:
    """Untrained model in m/s, beta from 1e-4 to 15; options go to the network.

    The limit is white, for the residual model with the variance of its Gaussian process at each
    place, so that the network sees values of unit variance everywhere.
    """
    _validation.one_of("model", name, MODELS)
    residual = name == MODELS[1]
    options = (CORRECTION if residual else {}) | options
    options = STEERABLE | {"radius": RADIUS, "max_neighbours": NEIGHBOURS} | options
    options |= {"axial": True, "compute_dtype": compute_dtype, "dtype": "float32"}
    net_key, base_key = jr.split(key)
    score, kernel = NetworkScore(SteerableSphere(("vector",), **options, key=net_key)), None
    if residual:
        score = NetworkScore(score.net, Velocity(relative=True))
        score = score.with_base(stored_gp(), key=base_key)
        kernel = limiting_kernel(stored_gp())
    noising = OrnsteinUhlenbeck(kernel or Diagonal(White(), 2), DEFAULT_SCHEDULE)
    model = Model(noising, score, normaliser=Normaliser(y_scale=(SCALE, SCALE)))
    return model.with_variables(("lat", "lon"), ("u", "v"), domain="sphere")


def make_loss() -> DenoisingLoss:
    """Default loss: dense times near zero, likelihood weights."""
    return default_loss("real")


def make_generator(
    name: str, batch_size: int = 16, data: str | None = None, *, points: int = POINTS
) -> GlobeGenerator:
    """Winds of the training times, all fields of a batch at the same random points.

    For the network alone they are turned about the axis and mirrored, which changes nothing for it
    but the points; the Gaussian process of the residual model knows where the land is.
    """
    _validation.one_of("model", name, MODELS)
    winds, turned = seasonal_anomalies(data), name == MODELS[0]
    fields = winds.wind[winds.between(*TRAINING)] / SCALE
    x, y, log_area = (jnp.asarray(v, jnp.float32) for v in (winds.x, fields, np.log(winds.area)))
    contexts = ContextSampler(few=min(MOST_STATIONS, points - 1), few_share=0.75)
    options: dict[str, Any] = {"num_points": points, "min_points": min(FEWEST_POINTS, points)}
    options |= {"batch_size": batch_size, "common_points": True}
    options |= {"rotate": turned, "mirror": turned}
    return GlobeGenerator(x=x, y=y, log_area=log_area, contexts=contexts, **options)


def make_optimiser(name: str, steps: int) -> optax.GradientTransformation:
    """Adam; the correction of a process shrinks back to it where the data say nothing."""
    if name == MODELS[1]:
        return adam(steps, peak=1e-3, weight_decay=1e-2)
    return adam(steps, peak=2e-3)
