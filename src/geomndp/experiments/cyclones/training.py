"""The models of cyclone tracks, and how they are trained."""

from __future__ import annotations

import math
from os import PathLike

import optax

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.data.ibtracs import Split, Tracks, cyclones, split_by_storm
from geomndp.data.sequences import SequenceGenerator
from geomndp.experiments.cyclones import latlon
from geomndp.experiments.cyclones.experiment import MODELS
from geomndp.experiments.cyclones.protocol import SCHEDULE, SPHERE, T_MIN, task, task_batch
from geomndp.model import Model
from geomndp.nets import SphericalAttention
from geomndp.noising import Brownian
from geomndp.score import NetworkScore, PreconditionK
from geomndp.train import DenoisingLoss, adam, default_loss


def make_model(
    name: str, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> Model:
    """Untrained model; options are those of its network."""
    _validation.one_of("model", name, tuple(MODELS))
    if not MODELS[name].on_sphere:
        return latlon.make_latlon(key=key, compute_dtype=compute_dtype, **options)
    net = SphericalAttention(
        absolute_min_wavelength=MODELS[name].absolute_min_wavelength,
        noise_rate=math.sqrt(SCHEDULE.beta1 / 2),  # sigma^2 = B(t), about beta1 t^2 / 2
        compute_dtype=compute_dtype,
        dtype="float32",
        key=key,
        **options,
    )
    model = Model(Brownian(SPHERE, SCHEDULE), NetworkScore(net, PreconditionK()), T_MIN)
    return model.with_variables("time", ("lat", "lon"), {"time": "days"})


def read_split(data: str | PathLike | None, split: int) -> Split:
    """Storms to train on and to test on, of an archive or of the one at $GEOMNDP_IBTRACS."""
    return split_by_storm(cyclones(data), split)


def make_generator(
    name: str, batch_size: int, *, data: str | PathLike | None = None, split: int = 0
) -> SequenceGenerator:
    """Training tracks of an archive; see `tracks_generator`."""
    return tracks_generator(name, read_split(data, split).train, batch_size)


def tracks_generator(name: str, train: Tracks, batch_size: int = 512) -> SequenceGenerator:
    """Training tracks on the device in the units of a model, observed as in the tasks and else."""
    _validation.one_of("model", name, tuple(MODELS))
    tracks = task_batch(task("joint"), train)
    tracks = tracks if MODELS[name].on_sphere else latlon.to_units(tracks)
    return SequenceGenerator(x=tracks.x, y=tracks.y, batch_size=batch_size)


def make_loss() -> DenoisingLoss:
    """Times about uniform in the logarithm; observations clean or off by 6 to 200 km."""
    return default_loss("sphere")


def make_optimiser(name: str, steps: int, peak: float = 1e-3) -> optax.GradientTransformation:
    """Adam with warm-up and cosine decay."""
    return adam(steps, peak=peak)
