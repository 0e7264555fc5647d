"""What every track baseline is: a process that is conditioned on context points of one track."""

from __future__ import annotations

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import put
from geomndp._types import Array, Float, Mask, PRNGKeyArray, Scalar
from geomndp.baselines.tracks.context import (
    SPHERE,
    Targets,
    TimeColumn,
    TrackContext,
    blank_context,
    distinct_times,
    fill_masked,
    pad_rows,
    pad_to_buckets,
)
from geomndp.predictive import (
    MOMENT_SAMPLES,
    AbstractPredictive,
    AbstractProcess,
    LogProb,
    exact_log_prob,
)


class AbstractBaseline(AbstractProcess):
    """Something fitted to tracks that predicts any times of a track from any others.

    A subclass writes the `predict_...` methods: pure functions of arrays, in which masked rows hold
    some point of the sphere and count for nothing. Checks of values stand in `condition` and in
    the predictive law.
    """

    @classmethod
    @abc.abstractmethod
    def fit(cls, x: Float[Array, "b n 1"], y: Float[Array, "b n 3"]) -> AbstractBaseline:
        """Fit to tracks that share their times.

        Args:
            x: Times in days, shape (b, n, 1).
            y: Unit vectors, shape (b, n, 3).
        """

    @abc.abstractmethod
    def predict_mean(self, context: TrackContext, x: TimeColumn, mask: Mask | None) -> Targets:
        """The best single track.

        Args:
            context: Context points; masked rows hold some point of the sphere.
            x: Times in days, shape (k, 1).
            mask: 1 for real targets, shape (k,), or None.

        Returns:
            Unit vectors, shape (k, 3).
        """

    @abc.abstractmethod
    def predict_samples(
        self, context: TrackContext, x: TimeColumn, *, key: PRNGKeyArray, num_samples: int
    ) -> Float[Array, "s k 3"]:
        """Draw tracks.

        Args:
            context: Context points; masked rows hold some point of the sphere.
            x: Times in days, shape (k, 1).
            key: Random key.
            num_samples: Number s of tracks.

        Returns:
            Unit vectors, shape (s, k, 3).
        """

    @abc.abstractmethod
    def predict_log_prob(
        self, context: TrackContext, x: TimeColumn, y: Targets, mask: Mask | None
    ) -> Scalar:
        """Joint log-density of the unmasked rows with respect to area.

        Args:
            context: Context points; masked rows hold some point of the sphere.
            x: Times in days, shape (k, 1).
            y: Unit vectors, shape (k, 3).
            mask: 1 for real targets, shape (k,), or None.

        Returns:
            Nats.
        """

    def check_times(self, context: np.ndarray, targets: np.ndarray) -> None:
        """Raise ValueError for times that this baseline cannot treat.

        Args:
            context: Times of context points in days, shape (c,).
            targets: Times of targets in days, shape (k,).
        """

    def condition(
        self, x: Array, y: Array, noise: Any = 0.0, mask: Mask | None = None
    ) -> TrackPredictive:
        """Predictive law of a track at any other times, given context points.

        Args:
            x: Times in days, shape (c, 1); c = 0 gives the prior where there is one.
            y: Unit vectors, shape (c, 3).
            noise: Must be 0: context points are exact.
            mask: 1 for real rows, 0 for padding, shape (c,); no real row is as c = 0.

        Raises:
            ValueError: If shapes do not fit, points are off the sphere, or times are repeated.

        Example:
            `baseline.condition(xc, yc).sample(targets, key=key, num_samples=50)`
        """
        _validation.function(x, y, dim=3, mask=mask, name=" of the context")
        SPHERE.check("y of the context", y, mask)
        if _validation.concrete(noise) and np.any(np.asarray(noise) != 0):
            raise ValueError(f"expected context points without noise, got noise {noise}")
        if mask is not None and _all_concrete((x, y, mask)):
            real = np.flatnonzero(np.asarray(mask) > 0)
            x, y, mask = put(np.asarray(x)[real]), put(np.asarray(y)[real]), None
        return TrackPredictive(self, TrackContext(x, y, mask))


class AbstractPointBaseline(AbstractBaseline):
    """A single track, without a law around it: all samples are the same, and no density exists."""

    def predict_samples(self, context, x, *, key, num_samples):
        mean = self.predict_mean(context, x, None)
        return jnp.broadcast_to(mean[None], (num_samples, *mean.shape))

    def predict_log_prob(self, context, x, y, mask):
        name = type(self).__name__
        raise ValueError(f"expected a law with a density, got {name}, which is a single track")


class TrackPredictive(AbstractPredictive):
    """Law of one track given its context points; densities are with respect to area.

    Attributes:
        process: The baseline.
        context: Context points.
    """

    process: AbstractBaseline
    context: TrackContext

    def mean(self, x: TimeColumn, *, key: Any = None) -> Targets:
        """The best single track.

        Args:
            x: Times in days, shape (k, 1).
            key: Not needed.

        Returns:
            Unit vectors, shape (k, 3).
        """
        self._check(x)
        if not _all_concrete((self, x)):
            return _mean(self.process, self.context, x, None)
        context, padded, mask = pad_to_buckets(self.context, x)
        return put(np.asarray(_mean(self.process, context, padded, mask))[: len(x)])

    def sample(
        self, x: TimeColumn, *, key: PRNGKeyArray, num_samples: int = 16
    ) -> Float[Array, "s k 3"]:
        """Draw tracks as unit vectors, shape (s, k, 3); arguments as of `AbstractPredictive`."""
        self._check(x)
        _validation.at_least(0, num_samples=num_samples)
        return _sample(self.process, self.context, x, key, num_samples)

    def log_prob_info(
        self,
        x: TimeColumn,
        y: Targets,
        *,
        key: PRNGKeyArray | None = None,
        mask: Mask | None = None,
    ) -> LogProb:
        """Joint log-density of a track's points, exact, in nats with respect to area.

        Args:
            x: Times in days, shape (k, 1).
            y: Unit vectors, shape (k, 3).
            key: Not used.
            mask: 1 for real rows, 0 for padding, shape (k,).

        Raises:
            ValueError: If the baseline is a single track, or a point is off the sphere.
        """
        self._check(x, mask)
        _validation.function(x, y, dim=3, mask=mask)
        SPHERE.check("y", y, mask)
        context = self.context
        if _all_concrete((self, x, y, mask)):
            length = len(x)
            context, x, mask = pad_to_buckets(context, x, mask)
            y = put(pad_rows(y, len(x) - length))
        return exact_log_prob(_log_prob(self.process, context, x, y, mask))

    def mean_and_std(
        self, x: TimeColumn, *, key: PRNGKeyArray | None = None
    ) -> tuple[Targets, Targets]:
        """The best single track (k, 3), and the standard deviation of every coordinate (k, 3).

        The latter is estimated from samples, with a key, where the law is not a single track.
        """
        mean = self.mean(x)
        if isinstance(self.process, AbstractPointBaseline):
            return mean, jnp.zeros_like(mean)
        if key is None:
            raise ValueError("expected a key to estimate the spread of tracks, got None")
        samples = self.sample(x, key=key, num_samples=MOMENT_SAMPLES)
        return mean, jnp.std(samples, axis=0, ddof=1)

    def _check(self, x: TimeColumn, mask: Mask | None = None) -> None:
        _validation.function(x, dim=3, mask=mask)
        if _all_concrete((self.context.x, self.context.mask, x, mask)):
            context = distinct_times(self.context.x, self.context.mask)
            self.process.check_times(context, distinct_times(x, mask))


# Compiled once for all splits and sizes: baselines come in as arrays.
@eqx.filter_jit
def _mean(process, context, x, mask):
    return process.predict_mean(blank_context(context), x, mask)


@eqx.filter_jit
def _sample(process, context, x, key, num_samples: int):
    return process.predict_samples(blank_context(context), x, key=key, num_samples=num_samples)


@eqx.filter_jit
def _log_prob(process, context, x, y, mask):
    return process.predict_log_prob(blank_context(context), x, fill_masked(y, mask), mask)


def _all_concrete(tree) -> bool:
    return all(map(_validation.concrete, jax.tree.leaves(tree)))
