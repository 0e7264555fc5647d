"""Ridge regression of tracks in a local frame, solved on the host in double precision."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Float, Mask, ScalarLike
from geomndp.baselines.tracks.context import ContextPoints, Targets
from geomndp.baselines.tracks.host_call import call_on_host
from geomndp.baselines.tracks.local_frame import (
    Roles,
    from_local,
    log_area,
    num_features,
    to_local,
)
from geomndp.baselines.tracks.residuals import (
    ScaleMixture,
    fit_residuals,
    pad_residuals,
    scales_of,
)
from geomndp.linalg import zero_masked

RIDGE = 1e-6


class Regression(NamedTuple):
    """Targets around a linear function of the predictors."""

    roles: Roles
    coefficients: Float[Array, "f d"]
    residuals: ScaleMixture

    def centre(self, y: ContextPoints) -> tuple[Float[Array, " 3"], Float[Array, " d"]]:
        """Anchor, and the expected local coordinates of the targets."""
        return y[self.roles.anchor], self.roles.predictors(y) @ self.coefficients

    def mean(self, y: ContextPoints) -> Targets:
        """The best single track given context points y."""
        anchor, centre = self.centre(y)
        return from_local(anchor, centre.reshape(-1, 2))

    def sample(self, y: ContextPoints, *, key, num_samples: int) -> Float[Array, "s k 3"]:
        """Tracks given context points y."""
        anchor, centre = self.centre(y)
        c = centre[None] + self.residuals.sample(key=key, num_samples=num_samples)
        return jax.vmap(lambda c: from_local(anchor, c.reshape(-1, 2)))(c)

    def log_prob(self, y: ContextPoints, targets: Targets, mask: Mask | None, noise: ScalarLike):
        """Log-density of targets given context points y."""
        anchor, centre = self.centre(y)
        c = to_local(anchor, targets)
        r = zero_masked((c.reshape(-1) - centre).reshape(-1, 2), mask).reshape(-1)
        area = log_area(c) if mask is None else jnp.where(mask > 0, log_area(c), 0.0)
        return self.residuals.log_density(r, noise) - jnp.sum(area)


def fit_regression(
    roles: Roles,
    context: Float[Array, "b c 3"],
    targets: Float[Array, "b k 3"],
    mask: Mask | None,
    *,
    heavy_tailed: bool,
) -> Regression:
    """Fit to tracks, by a callback to the host that JAX's transformations carry.

    Args:
        roles: Which context row is the anchor, and the others.
        context: Context points of the tracks, shape (b, c, 3).
        targets: Their targets, shape (b, k, 3).
        mask: 1 for real targets, 0 for padding, shape (k,).
        heavy_tailed: Whether every storm has residuals of a scale of its own.

    Returns:
        Coefficients and the law of what is left.
    """
    dtype = context.dtype
    predictors = jax.vmap(roles.predictors)(context)
    local = jax.vmap(to_local)(context[:, roles.anchor], targets)
    real = jnp.ones(targets.shape[1]) if mask is None else mask
    solve = functools.partial(fit_on_host, heavy_tailed=heavy_tailed)
    shapes = _shapes(predictors.shape[1], 2 * targets.shape[1], heavy_tailed, dtype)
    arguments = (predictors, local.reshape(len(local), -1), roles.mask, real)
    fitted = call_on_host(solve, shapes, *arguments)
    coefficients, basis, variances, band, log_weights = fitted
    scales = jnp.asarray(scales_of(heavy_tailed), dtype)
    return Regression(
        roles, coefficients, ScaleMixture(basis, variances, band, scales, log_weights)
    )


def _shapes(features: int, size: int, heavy_tailed: bool, dtype) -> tuple:
    bands = (2, len(scales_of(True))) if heavy_tailed else (1, 1)
    sizes = ((features, size), (size, size), (size,), (size,), bands)
    dtypes = (dtype, dtype, dtype, jnp.int32, dtype)
    return tuple(jax.ShapeDtypeStruct(*each) for each in zip(sizes, dtypes, strict=True))


def check_num_tracks(count: int, size: int) -> None:
    """Raise ValueError unless there are more than two tracks per predictor."""
    if count <= 2 * size:
        raise ValueError(f"expected more than {2 * size} tracks to fit {size} terms, got {count}")


def fit_on_host(predictors, targets, context_mask, target_mask, *, heavy_tailed: bool) -> tuple:
    """Coefficients and the arrays of the residuals' law, of padded predictors and targets.

    Args:
        predictors: Shape (b, f), zero where padded.
        targets: Local coordinates, shape (b, 2 k).
        context_mask: 1 for real rows of the context points beside the anchor, shape (m,).
        target_mask: 1 for real targets, shape (k,).
        heavy_tailed: Whether every storm has scales of its own.

    Returns:
        Coefficients (f, 2 k), then basis, variances, band and log-weights of a `ScaleMixture`.
    """
    predictors, targets = (np.asarray(v, dtype=float) for v in (predictors, targets))
    size = num_features(1 + int(np.asarray(context_mask).sum()))
    check_num_tracks(len(predictors), size)
    real = np.repeat(np.asarray(target_mask) > 0, 2)
    coefficients = np.zeros((predictors.shape[1], len(real)))
    coefficients[:, real] = ridge(predictors, targets[:, real])
    r = targets[:, real] - predictors @ coefficients[:, real]
    law = fit_residuals(r, size, heavy_tailed=heavy_tailed)
    return (coefficients, *(law if real.all() else pad_residuals(law, real)))


def ridge(predictors: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Coefficients (f, d) of a ridge regression, with predictors in units of their spread."""
    count, size = predictors.shape
    spread = predictors.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = predictors / spread
    gram = scaled.T @ scaled + RIDGE * count * np.eye(size)
    return np.linalg.solve(gram, scaled.T @ targets) / spread[:, None]
