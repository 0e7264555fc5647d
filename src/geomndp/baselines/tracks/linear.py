r"""Linear regression of tracks in a local frame, after CLIPER (Neumann 1972).

All points of a track become coordinates to the east and to the north of one context point, the
anchor: $c = (e, n) \log_{anchor} y$. Targets are linear in the context coordinates, in the sine of
the anchor's latitude and its square, and in the products of both; what is left is Gaussian, or
Gaussian with scales of its own for every storm.

Context and targets are settled only when a law is asked for: the regression is solved then, on the
host in double precision, by a callback that JAX's transformations carry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, Int, Mask
from geomndp.baselines.tracks.base import AbstractBaseline
from geomndp.baselines.tracks.context import (
    SPHERE,
    Targets,
    TimeColumn,
    TrackContext,
    UnitVectors,
    shared_times,
)
from geomndp.baselines.tracks.genesis_density import GenesisDensity
from geomndp.baselines.tracks.local_frame import choose_roles, num_features
from geomndp.baselines.tracks.regression import Regression, check_num_tracks, fit_regression


class FromGenesis(NamedTuple):
    """The prior of a track: where it begins, then the rest from there."""

    genesis: GenesisDensity
    rest: Regression
    first: Int[Array, ""]

    def join(self, start: Float[Array, " 3"], rest: UnitVectors) -> Targets:
        """The whole track from its first target and the others."""
        rows = jnp.arange(len(rest) + 1)
        index = jnp.where(rows == self.first, 0, jnp.where(rows < self.first, rows + 1, rows))
        return jnp.concatenate([start[None], rest])[index]


class LinearGaussian(AbstractBaseline):
    """Regression for any choice of context points and targets among the times of the tracks.

    Attributes:
        times: Times of the tracks in days.
        tracks: Training tracks, shape (b, n, 3).
        heavy_tailed: Whether every storm has residuals of a scale of its own.
        density_noise: Variance of each tangent coordinate by which densities are blurred, not
            samples: B(t_min) compares with a diffusion model.
    """

    times: tuple[float, ...] = eqx.field(static=True)
    tracks: Float[Array, "b n 3"]
    heavy_tailed: bool = eqx.field(static=True)
    density_noise: float = 0.0

    @classmethod
    def fit(cls, x, y, *, heavy_tailed: bool = False):
        """Keep the tracks: the regression is solved when context and targets are chosen.

        Args:
            x: Times in days, shape (b, n, 1), the same for all tracks.
            y: Unit vectors, shape (b, n, 3).
            heavy_tailed: Whether every storm has residuals of a scale of its own.

        Returns:
            The baseline.

        Raises:
            ValueError: If the tracks do not share their times.
        """
        return cls(tuple(shared_times(x).tolist()), y, heavy_tailed)

    def check_times(self, context, targets):
        """Raise ValueError for times that no track has, or too few tracks for the regression."""
        times = np.concatenate([context, targets])
        distances = np.abs(times[:, None] - np.asarray(self.times)[None, :])
        if len(times) and distances.min(axis=1).max() > 1e-4:
            raise ValueError("expected times of the tracks that were fitted, got others")
        check_num_tracks(len(self.tracks), num_features(max(len(context), 1)))

    def predict_mean(self, context, x, mask):
        """The expected track in the local frame."""

        def given():
            return self._regression(context.x, context.mask, x, mask).mean(context.y)

        def prior():
            law = self._from_genesis(x, mask)
            start = SPHERE.retract(jnp.mean(law.genesis.centres, axis=0))
            return law.join(start, law.rest.mean(start[None]))

        return _given_or_prior(context, given, prior)

    def predict_samples(self, context, x, *, key, num_samples):
        """Tracks with residuals of the fitted law."""

        def given():
            law = self._regression(context.x, context.mask, x, None)
            return law.sample(context.y, key=key, num_samples=num_samples)

        def prior():
            law = self._from_genesis(x, None)
            start_key, rest_key = jr.split(key)
            starts = law.genesis.sample(key=start_key, num_samples=num_samples)

            def one(start, key):
                return law.join(start, law.rest.sample(start[None], key=key, num_samples=1)[0])

            return jax.vmap(one)(starts, jr.split(rest_key, num_samples))

        return _given_or_prior(context, given, prior)

    def predict_log_prob(self, context, x, y, mask):
        """Density of the residuals, with respect to area."""
        noise = self.density_noise

        def given():
            law = self._regression(context.x, context.mask, x, mask)
            return law.log_prob(context.y, y, mask, noise)

        def prior():
            law = self._from_genesis(x, mask)
            rest = _rest(len(x), law.first)
            start, rest_mask = y[law.first], None if mask is None else mask[rest]
            after = law.rest.log_prob(start[None], y[rest], rest_mask, noise)
            return law.genesis.log_prob(start, noise) + after

        return _given_or_prior(context, given, prior)

    def _rows(self, x: TimeColumn) -> Int[Array, " k"]:
        """Indices of times among those of the tracks."""
        times = jnp.asarray(self.times, x.dtype)
        return jnp.argmin(jnp.abs(x - times[None, :]), axis=1)

    def _from_genesis(self, x: TimeColumn, mask: Mask | None) -> FromGenesis:
        """Only the first of the targets has a density of its own."""
        targets = self._rows(x)
        beyond = jnp.iinfo(targets.dtype).max
        first = jnp.argmin(targets if mask is None else jnp.where(mask > 0, targets, beyond))
        rest = _rest(len(x), first)
        genesis = GenesisDensity.fit(self.tracks[:, targets[first]])
        rest_mask = None if mask is None else mask[rest]
        law = self._regression(x[first][None], None, x[rest], rest_mask)
        return FromGenesis(genesis, law, first)

    def _regression(
        self, context_x: Any, context_mask: Any, x: TimeColumn, mask: Mask | None
    ) -> Regression:
        """Solve for the coefficients and the law of what is left."""
        context, targets = self._rows(context_x), self._rows(x)
        roles = choose_roles(context, context_mask, targets, mask)
        tracks = self.tracks[:, context], self.tracks[:, targets]
        return fit_regression(roles, *tracks, mask, heavy_tailed=self.heavy_tailed)


def _given_or_prior(
    context: TrackContext, given: Callable[[], Array], prior: Callable[[], Array]
) -> Array:
    """What is predicted from context points, or from none; a traced mask decides when it runs."""
    if not len(context.x):
        return prior()
    return (
        given() if context.mask is None else jax.lax.cond(jnp.any(context.mask > 0), given, prior)
    )


def _rest(count: int, first: Int[Array, ""]) -> Int[Array, " m"]:
    """All rows but the first."""
    rows = jnp.arange(count - 1)
    return rows + (rows >= first).astype(rows.dtype)
