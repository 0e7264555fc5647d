r"""Columns of x by their role: inputs, which a symmetry moves, and covariates, which it does not.

A covariate (elevation, land or sea, day of the year) is known at every point. It enters as a
feature of its point, next to the value: shifts and rotations of the inputs leave it alone.
"""

from __future__ import annotations

import dataclasses

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
        input_dim: Number of columns of x, covariates included.
        output_dim: Number of output components p.
        num_invariant_inputs: How many of the columns, the last ones, are covariates.
        periods: Period of every column of x in the model's units, zero where it has none; empty
            where none has one.
        dtype: Dtype of the parameters.
    """

    num_invariant_inputs: int = 0
    periods: tuple[float, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        check_covariates(self)

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


def check_covariates(config) -> None:
    """Raise ValueError for covariates without inputs, and periods that do not fit the columns."""
    _validation.at_least(0, num_invariant_inputs=config.num_invariant_inputs)
    if config.num_invariant_inputs >= config.input_dim:
        got = f"{config.num_invariant_inputs} of {config.input_dim} columns"
        raise ValueError(f"expected fewer covariates than columns of x, got {got}")
    if config.periods and len(config.periods) != config.input_dim:
        got = len(config.periods)
        raise ValueError(f"expected a period for each of {config.input_dim} columns, got {got}")
    if not all(0 <= period < np.inf for period in config.periods):
        raise ValueError(f"expected periods >= 0 (zero for none), got {config.periods}")


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
        periods: Period of each covariate, zero where it has none.
        width: Channels of a token.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    periods: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, periods: tuple[float, ...], width: int, *, dtype: str, key: PRNGKeyArray):
        inner_key, outer_key = jr.split(key)
        size = num_covariate_features(periods)
        self.inner = eqx.nn.Linear(size, width, dtype=dtype, key=inner_key)
        self.outer = eqx.nn.Linear(width, width, use_bias=False, dtype=dtype, key=outer_key)
        self.periods = periods

    def __call__(self, covariates: Float[Array, "n c"]) -> Float[Array, "n w"]:
        """Embed the covariates of every point."""
        features = covariate_features(covariates, self.periods)
        return linear(self.outer, jax.nn.gelu(linear(self.inner, features)))


def covariate_embedding(
    config: CovariateConfig, width: int, *, key: PRNGKeyArray
) -> CovariateEmbedding | None:
    """Embedding of a network's covariates, None where it has none; its key is of its own.

    Args:
        config: Configuration of the network.
        width: Channels of a token.
        key: Random key of the network.
    """
    if not config.num_invariant_inputs:
        return None
    own_key = jr.fold_in(key, 7)
    return CovariateEmbedding(config.covariate_periods, width, dtype=config.dtype, key=own_key)
