"""Mean functions of the published baselines: a table on common inputs, else a few features."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Float
from geomndp.baselines.gaussian.functions import Curve

RIDGE = 1e-5  # per observation, on the features' coefficients
KNOTS = 9


def common_table(curves: list[Curve]) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (m, d) of all functions and values (functions, m, p), NaN where one is missing."""
    index: dict[tuple[float, ...], int] = {}
    for curve in curves:
        for point in curve.x:
            index.setdefault(tuple(point), len(index))
    values = np.full((len(curves), len(index), curves[0].y.shape[1]), np.nan)
    for row, curve in enumerate(curves):
        values[row, [index[tuple(point)] for point in curve.x]] = curve.y
    return np.array(list(index)), values


def table_means(values: np.ndarray) -> np.ndarray:
    """Mean over functions at every common input, shape (m, p)."""
    return np.nan_to_num(np.nanmean(values, axis=0))


class TableMean(eqx.Module):
    """The mean at the nearest input of a table.

    Args:
        x: Inputs of the table, shape (m, d).
        values: Means there, shape (m, p).
    """

    x: Float[Array | np.ndarray, "m d"]
    values: Float[Array | np.ndarray, "m p"]

    @classmethod
    def fit(cls, curves: list[Curve]) -> TableMean:
        """Mean of functions on their common inputs."""
        x, values = common_table(curves)
        return cls(x, table_means(values))

    def __call__(self, x: Any) -> Any:
        known = jnp.asarray(self.x, x.dtype)
        away = jnp.sum((x[:, None] - known[None]) ** 2, axis=-1)
        return jnp.asarray(self.values, x.dtype)[jnp.argmin(away, axis=1)]


class FeatureMean(eqx.Module):
    """Ridge regression on standardised inputs and, in one dimension, Gaussian bumps.

    Args:
        shift: Means of the inputs, shape (d,).
        scale: Their standard deviations, shape (d,).
        knots: Centres of the bumps, shape (k,); none for several inputs.
        width: Width of the bumps.
        weights: Coefficients, shape (1 + d + k, p).
    """

    shift: Float[Array | np.ndarray, " d"]
    scale: Float[Array | np.ndarray, " d"]
    knots: Float[Array | np.ndarray, " k"]
    width: float
    weights: Float[Array | np.ndarray, "f p"]

    @classmethod
    def fit(cls, curves: list[Curve]) -> FeatureMean:
        """Regress the values of all functions together."""
        x, y = (np.concatenate(parts) for parts in zip(*curves, strict=True))
        quantiles = np.quantile(x[:, 0], np.linspace(0, 1, KNOTS))
        knots, width = np.unique(quantiles), float(np.ptp(quantiles) / 6)
        knots = knots if x.shape[1] == 1 else np.zeros(0)
        empty = np.zeros((1 + x.shape[1] + len(knots), y.shape[1]))
        blank = cls(x.mean(axis=0), x.std(axis=0), knots, width, empty)
        features = np.asarray(blank.features(np.asarray(x), np))
        weights = np.zeros_like(empty)
        for output in range(y.shape[1]):
            there = np.isfinite(y[:, output])
            part = features[there]
            normal = part.T @ part + RIDGE * there.sum() * np.eye(part.shape[1])
            weights[:, output] = np.linalg.solve(normal, part.T @ y[there, output])
        return cls(blank.shift, blank.scale, knots, width, weights)

    def features(self, x: Any, xp: Any) -> Any:
        """One, standardised inputs and bumps, shape (n, f); by NumPy or JAX."""
        shift, scale, knots = (
            xp.asarray(v, x.dtype)[None] for v in (self.shift, self.scale, self.knots)
        )
        bumps = xp.exp(-0.5 * ((x[:, :1] - knots) / self.width) ** 2)
        return xp.concatenate([xp.ones((len(x), 1), x.dtype), (x - shift) / scale, bumps], axis=1)

    def __call__(self, x: Any) -> Any:
        xp = np if isinstance(x, np.ndarray) else jnp
        return self.features(x, xp) @ xp.asarray(self.weights, x.dtype)
