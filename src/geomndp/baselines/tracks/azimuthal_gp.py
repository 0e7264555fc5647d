"""A Gaussian process in the map about the centre of a track's own context points."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Batch
from geomndp.baselines.gaussian.pooled import fit_gp
from geomndp.baselines.tracks.base import AbstractBaseline
from geomndp.baselines.tracks.context import TrackContext, fill_masked
from geomndp.geometry.azimuthal import UnitVector, centre_of, from_map, log_map_area, to_map
from geomndp.gp import GP, ConditionedGP
from geomndp.linalg import zero_masked

CENTRE_POINTS = 5
"""Points of a training track whose centre is that of its map, as a context would be."""


class AzimuthalGP(AbstractBaseline):
    """A process of two outputs in azimuthal equidistant coordinates about the context's centre.

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
        area = log_map_area(q)[:, None] - 2 * np.log(self.radians)
        return law.log_prob(x, q / self.radians, mask) + jnp.sum(zero_masked(area, mask))
