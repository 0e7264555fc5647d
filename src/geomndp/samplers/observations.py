"""Observed values: context points with the variance of their noise, as data of a sampler."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from geomndp._arrays import pad_mask, pad_rows
from geomndp._types import Inputs, Mask, Outputs, PerPoint
from geomndp.linalg import columns
from geomndp.noising import AbstractNoising
from geomndp.solve import Context


class Observations(eqx.Module):
    """Context points of a problem.

    Attributes:
        x: Inputs (m, d).
        y: Observed values (m, p).
        noise: Variance of the observation noise per point, shape (m,), or (m, g) per group of
            outputs.
        noisy: Whether any of it is not zero.
        mask: 1 for an observed value, 0 for padding or a missing one, shape (m,) or (m, g); None
            where all are observed.
    """

    x: Inputs
    y: Outputs
    noise: PerPoint
    noisy: bool = eqx.field(static=True)
    mask: Mask | None = None

    def as_context(self, noising: AbstractNoising) -> Context:
        r"""The observations as context points at their own diffusion times.

        Noise of variance r on top of white limiting variance v is what noising does up to the time
        with $\sigma^2 / a^2 = r / v$, where the value is $m + a (y - m)$. On a manifold it is the
        heat kernel's own time, and the value stays.

        Args:
            noising: Forward process, with a white limiting kernel where there is noise.

        Returns:
            Context, at time zero where there is no noise.
        """
        zeros = jnp.zeros(len(self.x), dtype=self.x.dtype)
        if not self.noisy:
            return Context(self.x, self.y, zeros, self.mask)
        t = noising.schedule.inverse(noising.integrated_time_of_noise(self.x, self.noise))
        v = (1 - columns(noising.alpha(t), noising.dim)) * noising.mean_reversion(self.x, self.y)
        return Context(self.x, noising.manifold.exp(self.y, v), t, self.mask)


def no_observations(input_dim: int, output_dim: int, dtype: Any) -> Observations:
    """The context of a prior.

    Args:
        input_dim: Number of inputs.
        output_dim: Number of outputs.
        dtype: Floating-point type.
    """
    x, y = (jnp.zeros((0, dim), dtype) for dim in (input_dim, output_dim))
    return Observations(x, y, jnp.zeros(0, dtype), False)


def pad_observations(observations: Observations, size: int) -> Observations:
    """Pad observations.

    Args:
        observations: m context points.
        size: Number of rows, at least m; none stay none.

    Returns:
        Observations with a mask.
    """
    m = len(observations.x)
    if size == 0:
        return observations
    return Observations(
        pad_rows(observations.x, size),
        pad_rows(observations.y, size),
        pad_rows(observations.noise, size),
        observations.noisy,
        pad_mask(observations.mask, m, size, observations.x.dtype),
    )
