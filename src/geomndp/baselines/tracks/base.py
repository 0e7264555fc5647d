"""What every simple forecast gives: a law of a track at some times given its points at others."""

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray, Scalar, ScalarLike
from geomndp.geometry import Sphere

SPHERE = Sphere(2)
Points = Float[Array, "n 3"]
Times = Float[Array, "k 1"]
Known = Float[Array, "c 3"]
KnownTimes = Float[Array, "c 1"]
Targets = Float[Array, "k 3"]
Context = tuple[KnownTimes, Known]
"""Times (c, 1) in days and unit vectors (c, 3) of what is known of one track."""


class AbstractForecast(eqx.Module):
    """Law of a track at fixed times given its points `yc` at other fixed times; `vmap` outside."""

    @abc.abstractmethod
    def mean(self, yc: Known) -> Targets:
        """The best single track."""

    @abc.abstractmethod
    def sample(self, yc: Known, *, key: PRNGKeyArray, num_samples: int) -> Float[Array, "s k 3"]:
        """Draw tracks."""

    @abc.abstractmethod
    def log_prob(self, yc: Known, y: Targets, noise: ScalarLike = 0.0) -> Scalar:
        """Joint log-density with respect to area, of the law blurred by tangent noise.

        `noise` is the variance of each tangent coordinate: B(t_min) compares with a
        diffusion model.
        """


class AbstractPointForecast(AbstractForecast):
    """A single track, without a law around it."""

    def sample(self, yc, *, key, num_samples):
        mean = self.mean(yc)
        return jnp.broadcast_to(mean[None], (num_samples, *mean.shape))

    def log_prob(self, yc, y, noise=0.0):
        kind = type(self).__name__
        raise ValueError(f"expected a forecast with a density, got {kind}, which is a single track")


class AbstractBaseline(eqx.Module):
    """Something fitted to tracks that can forecast any times from any others."""

    @classmethod
    @abc.abstractmethod
    def fit(cls, x: Float[Array, "b n 1"], y: Float[Array, "b n 3"]) -> "AbstractBaseline":
        """Learn from tracks that share their times."""

    @abc.abstractmethod
    def forecast(self, xc: KnownTimes, x: Times) -> AbstractForecast:
        """Law at times x given points at times xc, both known numbers; the work is done here."""

    def mean(self, context: Context, x: Times) -> Targets:
        """The best single track at times x."""
        xc, yc = checked(context, x)
        return _mean(self.forecast(xc, x), yc)

    def sample(
        self, context: Context, x: Times, *, key: PRNGKeyArray, num_samples: int
    ) -> Float[Array, "s k 3"]:
        """Draw tracks at times x."""
        xc, yc = checked(context, x)
        return _sample(self.forecast(xc, x), yc, key, num_samples)

    def log_prob(self, context: Context, x: Times, y: Targets, noise: ScalarLike = 0.0) -> Scalar:
        """Joint log-density of y with respect to area, blurred by tangent noise."""
        xc, yc = checked(context, x)
        SPHERE.check("y", y)
        # As an array: a number would be compiled in.
        return _log_prob(self.forecast(xc, x), yc, y, jnp.asarray(noise, dtype=y.dtype))


@eqx.filter_jit
def _mean(forecast, yc):
    return forecast.mean(yc)


@eqx.filter_jit
def _sample(forecast, yc, key, num_samples):
    return forecast.sample(yc, key=key, num_samples=num_samples)


@eqx.filter_jit
def _log_prob(forecast, yc, y, noise):
    return forecast.log_prob(yc, y, noise)


def checked(context: Context, x) -> Context:
    """Refuse a context or times that make no sense."""
    xc, yc = context
    _validation.function(xc, yc, dim=3, name=" of the context")
    _validation.function(x, dim=3)
    SPHERE.check("y of the context", yc)
    return xc, yc


def days(x: Float[Array, "n 1"]) -> np.ndarray:
    """Times as numbers that can be compared; refuses repeated ones."""
    if not _validation.concrete(x):
        raise ValueError("expected times that are known numbers, got values that JAX is tracing")
    times = np.asarray(x, dtype=float)[:, 0]
    if len(np.unique(times)) != len(times):
        raise ValueError("expected each time once, got a repeated one")
    return times


def shared_times(x: Float[Array, "b n 1"]) -> np.ndarray:
    """Times of tracks that were all taken at the same ones."""
    times = np.asarray(x, dtype=float)[..., 0]
    if not len(times) or np.abs(times - times[:1]).max() > 1e-6:
        raise ValueError("expected tracks that share their times, got different ones")
    return times[0]
