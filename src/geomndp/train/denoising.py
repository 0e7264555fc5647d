"""Denoising score matching: residuals of a network score at noised functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data import SEPARATE, Batching
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.train.packing import apply_packed


def squared_errors(
    score: NetworkScore,
    noising: AbstractNoising,
    t: Float[Array, "b n"],
    batch: Batch,
    *,
    key: PRNGKeyArray,
    batching: Batching = SEPARATE,
) -> Float[Array, "b n"]:
    """Square of the score's residual at every point, mean over outputs.

    Args:
        score: The score to train.
        noising: The forward process.
        t: Diffusion time of every point.
        batch: Functions (b, n).
        key: Random key of the noise.
        batching: What the functions have in common: packed ones go through the network two at a
            time (see `geomndp.train.packing`); what depends on common inputs alone is computed
            once, and without a mask where the functions are not padded.

    Returns:
        Squared errors, shape (b, n).
    """
    mask = batch.mask
    x, y0 = (jax.vmap(zero_masked)(v, mask) for v in (batch.x, batch.y))
    if batching.common_inputs:
        mask_0 = mask[0] if batching.padded else None
        return _on_common_inputs(score, noising, t, x[0], y0, mask_0, key)

    def perturb(t, x, y0, mask, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return noised, score.net_inputs(noising, t, x, noised.y, mask)

    noised, inputs = jax.vmap(perturb)(t, x, y0, mask, jr.split(key, len(t)))
    apply = apply_packed if batching.packed > 1 else _apply_each
    outputs = apply(score.net, *inputs)

    def error(t, x, y0, noised, mask, output):
        return jnp.mean(score.error(noising, t, x, y0, noised, mask, output) ** 2, axis=1)

    return jax.vmap(error)(t, x, y0, noised, mask, outputs)


def _apply_each(net, t, x, y, mask) -> Float[Array, "b n p"]:
    return jax.vmap(net)(t, x, y, mask)


def _on_common_inputs(score, noising, t, x, y0, mask, key) -> Float[Array, "b n"]:
    def one(t, y0, key):
        noised = noising.perturb(t, x, y0, key=key, mask=mask)
        return jnp.mean(score.error(noising, t, x, y0, noised, mask) ** 2, axis=1)

    return jax.vmap(one)(t, y0, jr.split(key, len(t)))
