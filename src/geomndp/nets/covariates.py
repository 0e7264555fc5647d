r"""Covariates: columns of x that no symmetry moves.

A covariate (elevation, land or sea, day of the year) is known at every point. It enters as a
feature of its point, next to the value: shifts and rotations of the inputs leave it alone.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.nets.base import NetConfig
from geomndp.nets.layers import linear

NUM_HARMONICS = 4  # of a periodic covariate: a year, half of it, a third, a quarter


@dataclasses.dataclass(frozen=True, kw_only=True)
class CovariateConfig(NetConfig):
    """Hyperparameters of networks whose inputs may be periodic, and beside covariates.

    Args:
        num_invariant_inputs: How many of the columns, the last ones, are covariates.
        periods: Period of every column of x, zero where it has none; empty where none has one.
    """

    num_invariant_inputs: int = 0
    periods: tuple[float, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(0, num_invariant_inputs=self.num_invariant_inputs)
        if self.num_invariant_inputs >= self.input_dim:
            got = f"{self.num_invariant_inputs} of {self.input_dim} columns"
            raise ValueError(f"expected fewer covariates than columns of x, got {got}")
        if len(self.periods) not in (0, self.input_dim):
            got = len(self.periods)
            raise ValueError(f"expected a period for each of {self.input_dim} columns, got {got}")
        if not all(0 <= period < math.inf for period in self.periods):
            raise ValueError(f"expected periods >= 0 (zero for none), got {self.periods}")

    @property
    def num_inputs(self) -> int:
        """Columns of x before the covariates."""
        return self.input_dim - self.num_invariant_inputs

    @property
    def input_periods(self) -> tuple[float, ...]:
        """Periods of the inputs alone."""
        return self.periods[: self.num_inputs]

    @property
    def covariate_periods(self) -> tuple[float, ...]:
        """Periods of the covariates, zero where there is none."""
        return self.periods[self.num_inputs :] or (0.0,) * self.num_invariant_inputs


def num_covariate_features(periods: tuple[float, ...]) -> int:
    """Number of features of covariates with these periods."""
    return sum(2 * NUM_HARMONICS if period else 1 for period in periods)


def covariate_features(
    covariates: Float[Array, "n c"], periods: tuple[float, ...]
) -> Float[Array, "n f"]:
    """Covariates as they are; of a periodic one the sines and cosines of its first harmonics.

    Args:
        covariates: Columns (n, c) in the model's units.
        periods: Period of each, zero where it has none.
    """
    if not any(periods):
        return covariates
    features = []
    for column, period in zip(covariates.T, periods, strict=True):
        if not period:
            features.append(column[:, None])
            continue
        harmonics = jnp.asarray(2 * np.pi / period * np.arange(1, NUM_HARMONICS + 1), column.dtype)
        angles = column[:, None] * harmonics[None, :]
        features += [jnp.cos(angles), jnp.sin(angles)]
    return jnp.concatenate(features, axis=1)


class CovariateEmbedding(eqx.Module):
    """A small MLP of the covariates of a point, to be added to its token.

    Args:
        config: Configuration of a network with covariates, and tokens of a width.
        key: Random key of the network; that of the embedding is folded from it.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    periods: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, config: Any, *, key: PRNGKeyArray):
        inner_key, outer_key = jr.split(jr.fold_in(key, 7))
        periods, width, dtype = config.covariate_periods, config.width, config.dtype
        size = num_covariate_features(periods)
        self.inner = eqx.nn.Linear(size, width, dtype=dtype, key=inner_key)
        self.outer = eqx.nn.Linear(width, width, use_bias=False, dtype=dtype, key=outer_key)
        self.periods = periods

    def __call__(self, covariates: Float[Array, "n c"]) -> Float[Array, "n w"]:
        """Embed the covariates of every point."""
        features = covariate_features(covariates, self.periods)
        return linear(self.outer, jax.nn.gelu(linear(self.inner, features)))


def covariate_embedding(config: Any, *, key: PRNGKeyArray) -> CovariateEmbedding | None:
    """`CovariateEmbedding` of a network, None where it takes no covariates."""
    return CovariateEmbedding(config, key=key) if config.num_invariant_inputs else None
