"""A second time per point: where a student's flow map leads, beside where the point is.

The embedding of the target times is added to that of the times and is zero before training, so that
a trained network, extended by it, gives what it gave. Called as usual, the target of every point is
its own time.
"""

from __future__ import annotations

from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Mask, PerPoint, PRNGKeyArray, Times
from geomndp.linalg import per_point
from geomndp.nets.base import AbstractNet
from geomndp.nets.layers import TimeEmbedding, has_target_times, zeroed

Net = TypeVar("Net", bound=AbstractNet)


class FixedTargets(eqx.Module):
    """Embedding of given target times, whatever the times of the points.

    Attributes:
        embedding: Embedding of target times.
        times: Target times (n,), or (n, g) per group of outputs.
    """

    embedding: TimeEmbedding
    times: PerPoint

    def __call__(self, t: PerPoint, mask: Mask | None = None) -> Float[Array, "n c"]:
        """Embed the target times of points at times t."""
        s = self.times
        if s.ndim < t.ndim:
            s = jnp.broadcast_to(s[:, None], t.shape)
        return self.embedding(s if mask is None else jnp.where(mask > 0, s, 0.0), mask)


def target_embedding(
    config: Any, num_groups: int = 1, *, key: PRNGKeyArray
) -> TimeEmbedding | None:
    """Embedding of target times, zero before training; None without `target_times`.

    Args:
        config: Configuration of the network.
        num_groups: Groups of outputs with times of their own.
        key: Random key of the network; that of the embedding is folded from it.
    """
    if not config.target_times:
        return None
    sizes, embedding_key = (config.width, num_groups), jr.fold_in(key, 11)
    embedding = TimeEmbedding(*sizes, dtype=config.dtype, key=embedding_key)
    return eqx.tree_at(lambda e: e.outer, embedding, zeroed(embedding.outer))


def toward(net: Net, s: Times, n: int) -> Net:
    """The network whose points lead to given times.

    Args:
        net: A network with `target_times`.
        s: Target times, a scalar, (n,) or (n, g); of a context point its own time.
        n: Number of points.

    Returns:
        A network of the same parameters, to be called as usual.

    Raises:
        ValueError: If the network has no embedding of target times.
    """
    if not has_target_times(net):
        name = type(net).__name__
        raise ValueError(f"expected a network with target_times=True, got {name} without")
    embedding = net.target_time  # pyright: ignore[reportAttributeAccessIssue]
    return eqx.tree_at(lambda net: net.target_time, net, FixedTargets(embedding, per_point(s, n)))
