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

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.baselines import LatLon
from geomndp.data import Normaliser
from geomndp.experiments.cyclones.protocol import SCHEDULE, T_MIN
from geomndp.kernels import Diagonal, White
from geomndp.model import Model, Posterior
from geomndp.nets import BiDimensionalAttention
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb
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
    return Model(noising, NetworkScore(net), T_MIN, UNITS)


def to_units(batch: Batch) -> Batch:
    """Tracks on the sphere in the model's units; longitudes are unwrapped from row to row.

    Context rows come first, so that their values do not depend on the targets.
    """
    y = jax.vmap(lambda y: UNITS.forward_y(CHART.to_plane(y)))(batch.y)
    return batch._replace(x=jax.vmap(UNITS.forward_x)(batch.x), y=y)


class LatLonProcess(AbstractProcess):
    """The model as a process of tracks on the sphere: densities by area, samples as unit vectors.

    Attributes:
        model: A model of latitude and longitude in degrees.
    """

    model: Model

    def condition(self, x, y, noise=0.0, mask=None) -> LatLonPredictive:
        """Law given points of a track.

        Args:
            x: Times in days, shape (c, 1).
            y: Unit vectors, shape (c, 3).
            noise: Must be 0.
            mask: Must be None: longitudes run on from row to row.

        Returns:
            Law of the track at other times.
        """
        if mask is not None:
            raise ValueError("expected context points without padding, got a mask")
        return LatLonPredictive(self.model.condition(x, CHART.to_plane(y), noise), y)


class LatLonPredictive(AbstractPredictive):
    """Law of a track on the sphere.

    Attributes:
        law: That of latitude and longitude.
        context: Context points, unit vectors.
    """

    law: Posterior
    context: Float[Array, "c 3"]

    def sample(self, x, *, key, num_samples, **options):
        """Draw (num_samples, k, 3) unit vectors; options of `Posterior.sample`."""
        degrees = self.law.sample(x, key=key, num_samples=num_samples, **options)
        return jax.vmap(CHART.from_plane)(degrees)

    def log_prob_info(self, x, y, *, key=None, mask=None, **options) -> LogProb:
        """Log-density by area of the sheet on which the context points lie."""
        track = CHART.to_plane(jnp.concatenate([self.context, y]))
        degrees = track[len(self.context) :]
        info = self.law.log_prob_info(x, degrees, key=key, mask=mask, **options)
        return info._replace(value=info.value + jnp.sum(jnp.log(CHART.stretch(degrees))))
