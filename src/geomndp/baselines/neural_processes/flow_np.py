r"""Flow matching over the targets given the context, without symmetry (FlowNP).

Values $y_t = (1 - t) y + t \epsilon$ between data and standard normal noise have the velocity
$\epsilon - y$, whose mean given $y_t$ and the context a network learns (Lipman et al. 2023; over
functions Hamad and Rosenbaum 2025). It is one of `gn.nets`: context points are at time zero.
Samples follow dy/dt = v from noise at t = 1, log-densities the same flow from the data, with the
divergence of v.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Outputs, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.flow_prediction import FlowPrediction
from geomndp.baselines.neural_processes.network_process import (
    AbstractNetworkProcess,
    NeuralProcessConfig,
)
from geomndp.linalg import zero_masked
from geomndp.nets import BiDimensionalAttention
from geomndp.nets.bidimensional_attention import BiDimensionalAttentionConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class FlowNPConfig(BiDimensionalAttentionConfig, NeuralProcessConfig):
    """Hyperparameters of `FlowNP`: those of `BiDimensionalAttention`, and of the flow.

    Args:
        width: Channels of a token, divisible by `num_heads`.
        token_axis: "points", one token per point, or "dims".
        num_frequencies: Number of Fourier features of each coordinate.
        pre_norm: Whether tokens are normalised before attention.
        steps: Steps of the solver (RK4) of samples and densities; those of the error estimate are
            half as many.
        min_std: Standard deviation of the noise that values have at the end of the flow.
    """

    width: int = 128
    token_axis: str = "points"
    num_frequencies: int = 16
    pre_norm: bool = True
    steps: int = 16

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(2, steps=self.steps)

    def network_options(self) -> dict[str, Any]:
        """Arguments of the network."""
        return {
            name: getattr(self, name)
            for name in (f.name for f in dataclasses.fields(BiDimensionalAttentionConfig))
        }


class FlowNP(AbstractNetworkProcess[FlowNPConfig], tag="process/flow-np"):
    """Flow matching neural process: joint, not Gaussian, without symmetry.

    Arguments are those of `FlowNPConfig`, and a `key`.

    Example:
        `process = FlowNP(1, 1, width=128, key=jr.key(0))`
    """

    net: BiDimensionalAttention
    joint: ClassVar[bool] = True
    sampled_marginals: ClassVar[bool] = True

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = FlowNPConfig(*args, **options)
        self.net = BiDimensionalAttention(**self.config.network_options(), key=key)

    def velocity(
        self,
        t: Scalar,
        xc: Float[Array, "c d"],
        yc: Float[Array, "c p"],
        context_mask: Float[Array, " c"],
        x: Inputs,
        y: Outputs,
        mask: Float[Array, " n"],
    ) -> Outputs:
        """Mean velocity of the targets.

        Args:
            t: Time between 0 (data) and 1 (noise).
            xc: Context inputs, shape (c, d).
            yc: Context values, shape (c, p).
            context_mask: 1 for real context points, shape (c,).
            x: Target inputs, shape (n, d).
            y: Target values at time t, shape (n, p).
            mask: 1 for real targets, shape (n,).

        Returns:
            Shape (n, p), zero where masked.
        """
        times = jnp.concatenate([jnp.zeros_like(context_mask), jnp.broadcast_to(t, mask.shape)])
        points = jnp.concatenate([xc, x]), jnp.concatenate([yc, y])
        return self.net(times, *points, jnp.concatenate([context_mask, mask]))[len(xc) :]

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        options = (self.config.steps, self.config.min_std)
        return FlowPrediction(self, xc, yc, context_mask, x, mask, key, *options)

    def training_loss(self, xc, yc, context_mask, x, y, mask, *, key):
        """Mean square error of the velocity at one random time, over targets and outputs."""
        points = jnp.concatenate([xc, x]), jnp.concatenate([yc, y])
        context = jnp.concatenate([context_mask, jnp.zeros_like(mask)])
        targets = jnp.concatenate([jnp.zeros_like(context_mask), mask])
        return self.function_loss(*points, context, targets, key=key)

    def function_loss(self, x, y, context, targets, *, key):
        """As `training_loss`, with one token per point."""
        time_key, noise_key = jr.split(key)
        t = jr.uniform(time_key, (), y.dtype)
        noise = jr.normal(noise_key, y.shape, y.dtype)
        moved = jnp.where(context[:, None] > 0, y, (1 - t) * y + t * noise)
        times = jnp.where(context > 0, 0.0, t)
        velocity = self.net(times, x, moved, jnp.maximum(context, targets))
        squares = zero_masked((velocity - (noise - y)) ** 2, targets)
        return jnp.sum(squares) / (jnp.maximum(jnp.sum(targets), 1.0) * y.shape[1])


__all__ = ["FlowNP", "FlowNPConfig"]
