r"""Averages over all points of a planar field, which extend the receptive field cheaply.

Channels are divided among H widths $s_h$, and each is averaged with Gaussian weights of its width,

$(S_h f)_i = \sum_j w_{ij} f_j / \sum_j w_{ij}, \quad w_{ij} = e^{-|x_i - x_j|^2 / 2 s_h^2}.$

The weights are invariant scalars that depend on the inputs alone, so that vectors and tensors
transform as they should, functions at common inputs share them, and what is left to do is one
matrix product. An average does not say how many points it has seen: `DensityEmbedding` tells it
where points are irregular. Angular moments have the factor $((x_j - x_i) / s_h)^k$ in complex
numbers, k = 1, 2: derivatives of a Gaussian, of which the covariance of a gradient field is made.
Without them derivatives come from neighbours alone, which sparse points hardly have. Sums over few
points compare all pairs; with a `CellLayout` per width their cost is linear in the points.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Inputs, Mask, PRNGKeyArray
from geomndp.nets.graph import map_in_chunks
from geomndp.nets.layers import linear, zeroed
from geomndp.nets.steerable_2d.cell_layout import CellLayout, pooling_widths
from geomndp.nets.steerable_2d.gauss_transform import find_cells, gaussian_sums
from geomndp.nets.steerable_2d.o2_layers import (
    NUM_TYPES,
    PARTS,
    EquivariantLinear,
    Features,
    per_part,
)

PAIRS = 2**20  # up to so many pairs of points the weights are kept, 1024 points
BLOCK = 2**22  # pairs of points in one block where there are more: memory linear in the points
MOMENTS = (0, 1, 1, 2, 2)  # powers of the direction: 1, then real and imaginary parts
CONJUGATED = (1, 1, 0)  # order of the conjugated sender of orders 0, 1 and 2
Pool = Callable[[Float[Array, "n f h c"]], Float[Array, "k n f h c"]]


def gaussian_pooling(
    x: Inputs,
    mask: Mask,
    radius: float,
    num_widths: int,
    dtype: jnp.dtype,
    angular: bool = False,
    layouts: tuple[CellLayout, ...] = (),
) -> tuple[Float[Array, "n h"], Pool]:
    """The function that averages over all points of one function (equal positive masks).

    Args:
        x: Locations (n, 2).
        mask: (n,), zero where a row is padding.
        radius: That of the neighbours, of which the widths are multiples.
        num_widths: Number H of widths.
        dtype: Dtype of the weights.
        angular: Whether to take angular moments too.
        layouts: One per width for cost linear in the points (see `pooling_layouts`), none for a
            comparison of all pairs.

    Returns:
        Sums of the weights of every point and width, at least 1 for a point that is no padding, and
        a map of features (n, f, H, c) to their averages (1, n, f, H, c), or these and the other
        `MOMENTS`.
    """
    if layouts:
        return _pooling_by_cells(
            x, mask, pooling_widths(radius, num_widths), dtype, angular, layouts
        )
    widths = jnp.asarray(pooling_widths(radius, num_widths), x.dtype)

    def weights(rows: Float[Array, "m d"], row_mask: Float[Array, " m"]) -> Float[Array, "h m n"]:
        square = jnp.sum((rows[:, None] - x[None]) ** 2, axis=-1)
        same = (row_mask[:, None] == mask[None]) & (mask > 0)[None]
        raw = jnp.exp(-0.5 * square[None] / widths[:, None, None] ** 2)
        return jnp.where(same[None], raw, 0.0)

    def shares(raw: Float[Array, "h m n"], rows: Float[Array, "m d"]) -> Float[Array, "k h m n"]:
        total = jnp.sum(raw, axis=2, keepdims=True)
        mean = raw / jnp.maximum(total, 1e-6)
        if not angular:
            return mean[None].astype(dtype)
        offset = (x[None] - rows[:, None])[None] / widths[:, None, None, None]
        u, v = offset[..., 0], offset[..., 1]
        powers = jnp.stack([jnp.ones_like(u), u, v, u**2 - v**2, 2 * u * v])
        return (mean[None] * powers).astype(dtype)

    n = len(x)
    if n**2 <= PAIRS:
        raw = weights(x, mask)
        all_shares = shares(raw, x)
        return jnp.sum(raw, axis=2).T, lambda h: jnp.einsum("khij,jfhc->kifhc", all_shares, h)
    size = max(BLOCK // (n * (len(MOMENTS) if angular else 1)), 1)

    def pool(features):
        def averaged(rows):
            return jnp.einsum("khij,jfhc->ikfhc", shares(weights(*rows), rows[0]), features)

        return jnp.moveaxis(map_in_chunks(averaged, (x, mask), size), 1, 0)

    return map_in_chunks(lambda rows: jnp.sum(weights(*rows), axis=2).T, (x, mask), size), pool


def _pooling_by_cells(x, mask, widths, dtype, angular, layouts):
    """What `gaussian_pooling` returns, by cells."""
    sums, ones = [], jnp.ones((len(x), 1), x.dtype)
    for width, layout in zip(widths, layouts, strict=True):
        cells = find_cells(x, mask, width, layout)
        sums.append(gaussian_sums(cells, width, layout, angular))
    present = (mask > 0)[:, None]
    totals = jnp.stack([total(ones)[0, :, 0] for total in sums], axis=1)
    totals = jnp.where(present, totals, 0.0)
    shares = jnp.where(present, 1 / jnp.maximum(totals, 1e-6), 0.0)

    def pool(features):
        def pool_part(part):  # one after the other: less memory
            means = [s(part[:, h].astype(x.dtype)) for h, s in enumerate(sums)]
            return (jnp.stack(means, axis=2) * shares[None, :, :, None]).astype(dtype)

        return jnp.moveaxis(jax.lax.map(pool_part, jnp.moveaxis(features, 1, 0)), 0, 2)

    return totals, pool


def _rotated(moments: Float[Array, "k n f h c"], receiver: int, sender: int, conjugated: bool):
    """Parts of order `receiver` from moments of (the conjugate of) features of order `sender`."""
    real, imaginary = (moments[:, :, 2 * sender + part] for part in (0, 1))
    imaginary = -imaginary if conjugated else imaginary
    power = receiver + sender if conjugated else receiver - sender
    if power == 0:
        return real[0], imaginary[0]
    cosine = 2 * abs(power) - 1
    sine, sign = cosine + 1, 1 if power > 0 else -1
    return (
        real[cosine] - sign * imaginary[sine],
        imaginary[cosine] + sign * real[sine],
    )


def angular_features(moments: Float[Array, "k n f h c"]) -> Float[Array, "n g"]:
    """What every order receives from all orders, and from one conjugated: 4 channels for each."""
    parts = []
    for receiver in range(3):
        senders = [(0, False), (1, False), (2, False), (CONJUGATED[receiver], True)]
        pairs = [_rotated(moments, receiver, sender, c) for sender, c in senders]
        parts += [jnp.stack(part, axis=1) for part in zip(*pairs, strict=True)]
    return jnp.stack(parts, axis=1).reshape(moments.shape[1], -1)


class DensityEmbedding(eqx.Module):
    """How many points are near each, per width of the pooling and among its neighbours.

    A small MLP of logarithms, zero before it is trained. It joins the embedding of the times, so
    that what a point sends and how it is transformed may depend on its density: points of a cluster
    count less than a lone one.

    Args:
        width: Width of the time embedding.
        num_widths: Number H of pooling widths.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear

    def __init__(self, width: int, num_widths: int, *, dtype: str, key: PRNGKeyArray):
        inner_key, outer_key = jr.split(key)
        self.inner = eqx.nn.Linear(num_widths + 1, width, dtype=dtype, key=inner_key)
        self.outer = zeroed(eqx.nn.Linear(width, width, dtype=dtype, key=outer_key))

    def __call__(
        self, counts: Float[Array, "n h"], share: Float[Array, "n 1"]
    ) -> Float[Array, "n w"]:
        """Embed sums of pooling weights and log(1 + sum of the weights of neighbours)."""
        features = jnp.concatenate([jnp.log(jnp.maximum(counts, 1.0)), share], axis=1)
        return linear(self.outer, jax.nn.silu(linear(self.inner, features)))


class GlobalPooling(eqx.Module):
    """Update of each point from averages over all points, zero before it is trained.

    Times act on what is sent, as they do for neighbours: clean observations count among noise.

    Args:
        channels: Channels of every angular order.
        width: Width of the time embedding.
        num_widths: Number of pooling widths, which divides `channels`.
        angular: Whether there are angular moments too.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    condition: eqx.nn.Linear
    project: EquivariantLinear
    merge: EquivariantLinear
    angular: EquivariantLinear | None
    num_widths: int = eqx.field(static=True)

    def __init__(
        self,
        channels: int,
        width: int,
        num_widths: int,
        *,
        angular: bool = False,
        dtype: str,
        key: PRNGKeyArray,
    ):
        condition_key, project_key, merge_key = jr.split(key, 3)
        self.condition = eqx.nn.Linear(width, NUM_TYPES * channels, dtype=dtype, key=condition_key)
        self.project = EquivariantLinear(channels, channels, dtype=dtype, key=project_key)
        self.merge = zeroed(EquivariantLinear(channels, channels, dtype=dtype, key=merge_key))
        self.angular = None
        if angular:
            options = {"dtype": dtype, "key": merge_key}
            self.angular = zeroed(EquivariantLinear(4 * channels, channels, **options))
        self.num_widths = num_widths

    def __call__(self, h: Features, time: Float[Array, "n w"], pool: Pool) -> Features:
        """Send, average, receive."""
        sent = self.project(h) * (1 + per_part(linear(self.condition, time)))
        moments = pool(sent.reshape(len(h), PARTS, self.num_widths, -1))
        received = self.merge(moments[0].reshape(len(h), -1))
        if self.angular is None:
            return received
        return received + self.angular(angular_features(moments))
