"""A Gaussian process in the map about the centre of a track's own context points."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Batch, Float, Mask
from geomndp.baselines.gaussian.pooled import fit_gp
from geomndp.baselines.tracks.base import AbstractBaseline
from geomndp.baselines.tracks.context import SPHERE, TrackContext, UnitVectors, fill_masked
from geomndp.gp import GP, ConditionedGP
from geomndp.linalg import zero_masked

CENTRE_POINTS = 5
"""Points of a training track whose centre is that of its map, as a context would be."""
UnitVector = Float[Array, " 3"]


def centre_of(y: UnitVectors, mask: Mask | None) -> UnitVector:
    """Direction of the mean of unit vectors.

    Args:
        y: Unit vectors, shape (n, 3).
        mask: 1 for real rows, shape (n,), or None.

    Returns:
        A unit vector, shape (3,).
    """
    return SPHERE.retract(jnp.sum(zero_masked(y, mask), axis=0))


def east_and_north(centre: UnitVector) -> Float[Array, "2 3"]:
    """Unit vectors to the east and to the north at a point; any pair at a pole."""
    pole = jnp.asarray([0.0, 0.0, 1.0], centre.dtype)
    across = jnp.cross(pole, centre)
    east = SPHERE.retract(jnp.where(jnp.sum(across**2) > 0, across, jnp.eye(3)[0]))
    return jnp.stack([east, jnp.cross(centre, east)])


def to_map(centre: UnitVector, y: UnitVectors) -> Float[Array, "n 2"]:
    """Azimuthal equidistant coordinates about a point: east and north, in radians."""
    return SPHERE.log(jnp.broadcast_to(centre, y.shape), y) @ east_and_north(centre).T


def from_map(centre: UnitVector, q: Float[Array, "n 2"]) -> UnitVectors:
    """Points of the sphere from their coordinates about a centre."""
    return SPHERE.exp(jnp.broadcast_to(centre, (len(q), 3)), q @ east_and_north(centre))


class AzimuthalGP(AbstractBaseline):
    r"""A process of two outputs in azimuthal equidistant coordinates about the context's centre.

    With $\theta$ the angle to the centre, areas on the sphere are those of the map times
    $\sin\theta / \theta$.

    Attributes:
        gp: Process of (east, north) in units of the map.
        radians: Radians per unit of the map.
    """

    gp: GP
    radians: float

    @classmethod
    def fit(cls, x, y, *, mask=None, seed: int = 0, **options):
        """Fit a pooled process to tracks, each in the map about the centre of a few of its points.

        Args:
            x: Times, shape (b, n, 1).
            y: Unit vectors, shape (b, n, 3).
            mask: 1 for real rows, 0 for padding, shape (b, n); None where all are real.
            seed: Seed of the points that a map is centred on.
            **options: Those of `geomndp.baselines.fit_gp`.

        Returns:
            The fitted baseline.
        """
        mask = jnp.ones(y.shape[:2], y.dtype) if mask is None else mask
        order = np.random.default_rng(seed).random(mask.shape) + 1e3 * (np.asarray(mask) == 0)
        few = np.argsort(np.argsort(order, axis=1), axis=1) < CENTRE_POINTS
        chosen = jnp.asarray(few, y.dtype) * mask
        q = jax.vmap(lambda y, m, c: to_map(centre_of(y, c), fill_masked(y, m)))(y, mask, chosen)
        q = jnp.where(mask[..., None] > 0, q, 0.0)
        radians = float(jnp.sqrt(jnp.sum(q**2) / jnp.sum(mask) / 2))
        fitted = fit_gp(Batch(x, q / radians, mask, jnp.zeros_like(mask)), **options)
        if fitted.process is None:
            raise ValueError(f"expected tracks to fit a process to, got {fitted.note}")
        return cls(fitted.process, radians)

    def check_times(self, context: np.ndarray, targets: np.ndarray) -> None:
        """Raise ValueError without a context point: there is no map then."""
        if not len(context):
            raise ValueError("expected at least one context point to centre the map on, got none")

    def _law(self, context: TrackContext) -> tuple[UnitVector, ConditionedGP]:
        centre = centre_of(context.y, context.mask)
        q = to_map(centre, context.y) / self.radians
        return centre, self.gp.condition(context.x, q, mask=context.mask)

    def predict_mean(self, context, x, mask):
        """Posterior mean, mapped to the sphere."""
        centre, law = self._law(context)
        return from_map(centre, self.radians * law.mean_at(x))

    def predict_samples(self, context, x, *, key, num_samples):
        """Posterior samples, mapped to the sphere."""
        centre, law = self._law(context)
        draws = law.sample(x, key=key, num_samples=num_samples)
        return jax.vmap(lambda q: from_map(centre, self.radians * q))(draws)

    def predict_log_prob(self, context, x, y, mask):
        """Density of the map's coordinates over the area of the sphere that they stand for."""
        centre, law = self._law(context)
        q = to_map(centre, y)
        angle = jnp.sqrt(jnp.sum(q**2, axis=1, keepdims=True))
        area = -jnp.log(jnp.sinc(angle / jnp.pi)) - 2 * np.log(self.radians)
        return law.log_prob(x, q / self.radians, mask) + jnp.sum(zero_masked(area, mask))
