r"""Updates of each point from averages over all points, which extend the receptive field cheaply.

`gaussian_pooling` has the averages and their angular moments. An average does not say how many
points it has seen: `DensityEmbedding` tells it where points are irregular.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.nets.layers import linear, zeroed
from geomndp.nets.steerable_2d.gaussian_pooling import Pool
from geomndp.nets.steerable_2d.o2_layers import (
    NUM_TYPES,
    PARTS,
    EquivariantLinear,
    Features,
    per_part,
)

CONJUGATED = (1, 1, 0)  # order of the conjugated sender of orders 0, 1 and 2


def _rotated(moments: Float[Array, "k f n c"], receiver: int, sender: int, conjugated: bool):
    """Parts of order `receiver` from moments of (the conjugate of) features of order `sender`."""
    real, imaginary = (moments[:, 2 * sender + part] for part in (0, 1))
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


def angular_features(moments: Float[Array, "k f n c"]) -> Float[Array, "f n g"]:
    """What every order receives from all orders, and from one conjugated: g = 4 c channels."""
    parts = []
    for receiver in range(3):
        senders = [(0, False), (1, False), (2, False), (CONJUGATED[receiver], True)]
        pairs = [_rotated(moments, receiver, sender, c) for sender, c in senders]
        parts += [jnp.concatenate(part, axis=1) for part in zip(*pairs, strict=True)]
    return jnp.stack(parts)


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
        moments = moments.reshape(*moments.shape[:3], -1)
        received = self.merge.by_parts(moments[0])
        if self.angular is not None:
            received = received + self.angular.by_parts(angular_features(moments))
        return jnp.swapaxes(received, 0, 1).reshape(h.shape)
