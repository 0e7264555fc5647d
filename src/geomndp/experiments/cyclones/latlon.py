r"""Tracks as latitude and longitude in flat space: the paper's model without geometry.

Both coordinates are radians in the model, so that the noise of t_min, of variance
$1 - e^{-B(\epsilon)} \approx B(\epsilon)$, blurs latitudes as it does on the sphere. Longitudes are
blurred by the same angle, on the ground less by $\cos$ of the latitude: the bound on log-densities
that t_min sets is higher than the sphere's by $-\sum \log\cos$, 2.8 nats for 50 points of the
archive on average and 1.6 to 2.0 for 30. Densities by area are those of the sheet on which a track
starts between -180 and 180 degrees; other preimages of the same track are left out, which never
adds.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from geomndp._types import Array, Batch, Float, PRNGKeyArray, Scalar
from geomndp.baselines import LatLon
from geomndp.data import Normaliser
from geomndp.experiments.cyclones.protocol import EPS, SCHEDULE
from geomndp.kernels import Diagonal, White
from geomndp.model import Model
from geomndp.nets import BiDimensionalAttention
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.score import NetworkScore

CHART = LatLon()
UNITS = Normaliser(x_shift=3.0625, x_scale=1.804, y_scale=math.degrees(1.0))
"""Days of a track about zero with unit variance, radians from degrees."""
SIZES = {"width": 128, "num_layers": 6}


def make_latlon(*, key: PRNGKeyArray, compute_dtype: str | None = None, **options) -> Model:
    """Untrained NDP of (latitude, longitude); options are those of `BiDimensionalAttention`.

    Inputs and outputs have no names: a table's longitudes jump at the date line, the model's run on
    (`to_units`), so it must not read tables.

    It sees coordinates of a few radians as they are and must tell kilometres (1e-3) apart: bfloat16
    cannot, nor do the 10 bits of a GPU's default products of float32 matrices. Train and measure it
    under `jax.default_matmul_precision("highest")`.
    """
    options = {**SIZES, "compute_dtype": compute_dtype, "dtype": "float32", **options}
    net = BiDimensionalAttention(1, 2, inputs="absolute", **options, key=key)
    noising = OrnsteinUhlenbeck(Diagonal(White(), 2), SCHEDULE)
    return Model(noising, NetworkScore(net), EPS, UNITS)


def to_units(batch: Batch) -> Batch:
    """Tracks on the sphere in the model's units; longitudes run on from row to row.

    Known rows come first, so that what is told of them does not depend on the targets.
    """
    y = jax.vmap(lambda y: UNITS.forward_y(CHART.to_plane(y)))(batch.y)
    return batch._replace(x=jax.vmap(UNITS.forward_x)(batch.x), y=y)


def to_sphere(y: Float[Array, "*m n 2"]) -> Float[Array, "*m n 3"]:
    """Points of the sphere from the model's units; every pair of numbers is one."""
    degrees = UNITS.inverse_y(y).reshape(-1, 2)
    return CHART.from_plane(degrees).reshape(*y.shape[:-1], 3)


def log_area(y: Float[Array, "n 2"]) -> Scalar:
    r"""$\log |du / dA|$ of all points: added to the density in the model's units, that by area."""
    stretch = CHART.stretch(UNITS.inverse_y(y))
    return UNITS.log_jacobian(y) + jnp.sum(jnp.log(stretch))
