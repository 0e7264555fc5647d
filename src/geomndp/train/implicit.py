r"""Implicit score matching (Hyvarinen 2005): no target, a divergence instead.

Integration by parts turns $E |u - u_*|^2$, in the metric $K^{-1}$ and up to a constant, into
$E[u \cdot K^{-1} u + 2\, \mathrm{div}(D u)]$, which needs draws of the noised values alone: a
random walk will do. Noisier than the denoising loss, whose target is exact where there is one.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.geometry import AbstractDivergence
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore


def implicit_errors(
    score: AbstractScore,
    noising: AbstractNoising,
    t: Float[Array, "b n"],
    batch: Batch,
    counted: Float[Array, "b n"],
    rule: AbstractDivergence,
    *,
    key: PRNGKeyArray,
) -> Float[Array, "b n"]:
    """Summands of the implicit loss at every point, mean over outputs.

    The divergence, known for a function as a whole, is spread evenly over its points.

    Args:
        score: The score to train.
        noising: Forward process.
        t: Diffusion time of every point.
        batch: Functions (b, n).
        counted: 1 for points that enter the loss, shape (b, n).
        rule: How divergences are computed.
        key: Random key of noise and probes.

    Returns:
        What takes the place of squared errors, shape (b, n).
    """

    def one(t, x, y0, mask, counted, key):
        noise_key, probe_key = jr.split(key)
        x, y0 = zero_masked(x, mask), zero_masked(y0, mask)
        y = noising.diffuse(t, x, y0, key=noise_key, mask=mask)
        sigma = noising.sigma(t)[:, None]

        u = score(noising, t, x, y, mask)
        directions = rule.prepare(y, counted, key=probe_key)
        _, divergences = rule(
            lambda y: sigma * score(noising, t, x, y, mask), y, directions, noising.manifold
        )
        square = jnp.sum(u * noising.gram(x, mask).solve(u), axis=1)
        share = jnp.mean(divergences) / jnp.maximum(jnp.sum(counted), 1.0)
        return counted * (square + 2 * share) / y.shape[1]

    keys = jr.split(key, len(t))
    return jax.vmap(one)(t, batch.x, batch.y, batch.mask, counted, keys)
