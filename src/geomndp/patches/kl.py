"""Error of a scheme of patches in closed form: its Kullback-Leibler divergence for a GP."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.linalg

from geomndp._arrays import bucket, pad_rows, put
from geomndp._types import Array, Inputs
from geomndp.kernels import AbstractKernel
from geomndp.linalg import variances
from geomndp.patches.context import context_of
from geomndp.patches.layout import Layout, Patch

MAX_VALUES = 30_000


class SchemeKL(NamedTuple):
    """Divergence KL(exact law || law of the patches) of a Gaussian field.

    Attributes:
        total: Nats of the whole field.
        per_point: Nats per point.
        per_stage: Nats of every stage, in the order in which stages are drawn, per point of the
            field: they add up to `per_point`.
    """

    total: float
    per_point: float
    per_stage: tuple[float, ...]


def scheme_kl(
    kernel: AbstractKernel,
    layout: Layout,
    noise: float = 0.0,
    observed: Any = None,
    observed_noise: Any = 0.0,
) -> SchemeKL:
    r"""Divergence of the law of a Gaussian field drawn by patches from its exact law.

    With what patch b keeps of all that was drawn before it,

    $\mathrm{KL} = \frac12 \sum_b \big(\log\det \Sigma_{b \mid \text{kept}}
    - \log\det \Sigma_{b \mid \text{all before}}\big),$

    the sum of conditional entropies less the joint one: zero where every patch sees all points that
    were drawn before it. Given observations it is the average over their values.

    Args:
        kernel: Covariance of the function.
        layout: Patches, from `plan` or `plan_points`.
        noise: Variance of independent noise of every value.
        observed: Inputs of observations that the field is drawn given, shape (m, d).
        observed_noise: Variance of their further noise, one number or one per row.

    Returns:
        The divergence in nats.

    Raises:
        ValueError: If the field is too large for a dense covariance.

    Example:
        `scheme_kl(kernel, plan(grid((x, y)), Patches(width=15, halo=6)), noise=0.02).per_point`
    """
    points = layout.levels[-1].locations.size
    if points * kernel.dim > MAX_VALUES:
        got = f"{points} points of {kernel.dim} outputs"
        raise ValueError(f"expected at most {MAX_VALUES} values for a dense covariance, got {got}")
    given = np.zeros((0, len(layout.levels[0].locations.coordinates)))
    given = given if observed is None else np.asarray(observed, np.float64)
    gaussian = _Gaussian(kernel, noise, np.broadcast_to(observed_noise, len(given)))
    stages = np.zeros(len(layout.stages))
    for patch in layout.patches:
        stages[patch.stage] += _conditional_entropy(gaussian, layout, patch, given)
    parts = [(p.stage, _targets(layout, p)) for p in sorted(layout.patches, key=_by_stage)]
    everything = np.concatenate([x for _, x in parts])
    diagonal = gaussian.log_diagonal(given, np.arange(len(given)), everything)[len(given) :]
    stage_of = np.repeat([stage for stage, _ in parts], [len(x) for _, x in parts])
    excess = stages - np.bincount(stage_of, diagonal, len(stages))
    return SchemeKL(float(excess.sum()), float(excess.sum() / points), tuple(excess / points))


def _by_stage(patch: Patch) -> tuple[int, int]:
    return patch.stage, patch.index


def _targets(layout: Layout, patch: Patch) -> np.ndarray:
    return layout.inputs(patch)[layout.targets(patch)]


def _conditional_entropy(
    gaussian: _Gaussian, layout: Layout, patch: Patch, observed: np.ndarray
) -> float:
    """Half the log-determinant of a patch given what it keeps."""
    context = context_of(layout, patch, observed)
    targets = _targets(layout, patch)
    kept = np.concatenate([context.drawn.x[context.chosen], targets])
    diagonal = gaussian.log_diagonal(observed[context.observed], context.observed, kept)
    return float(diagonal[len(diagonal) - len(targets) :].sum())


@functools.partial(jax.jit, static_argnames="noise")
def _covariance(kernel: AbstractKernel, x: Inputs, noise: float) -> Array:
    return kernel.gram(x).add_diagonal(variances(noise, x)).dense()


class _Gaussian(NamedTuple):
    kernel: AbstractKernel
    noise: float
    observed_noise: np.ndarray

    def log_diagonal(self, given: np.ndarray, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Sums over outputs of log diagonals of the Cholesky factor, one per point.

        The points are observations, rows of these, and then values at x.
        """
        both = np.concatenate([given, x])
        if not len(both):
            return np.zeros(0)
        with jax.enable_x64(True):
            padded = pad_rows(put(both), bucket(len(both)))
            matrix = _covariance(self.kernel, padded, self.noise)
        size = len(both) * self.kernel.dim
        matrix = np.array(matrix[:size, :size], order="F")
        extra = np.concatenate([self.observed_noise[rows], np.zeros(len(both) - len(given))])
        matrix[np.diag_indices(len(matrix))] += np.repeat(extra, self.kernel.dim)
        try:
            factor = scipy.linalg.cholesky(matrix, lower=True, overwrite_a=True)
        except np.linalg.LinAlgError:
            raise ValueError(
                "expected a positive definite covariance, got one that is not: add noise"
            ) from None
        return np.log(np.diag(factor)).reshape(len(both), -1).sum(axis=1)
