"""What every loss of a training step is: one number for a batch, and one for each function."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import equinox as eqx

from geomndp._types import Array, Batch, Float, PRNGKeyArray, Scalar
from geomndp.data import SEPARATE, Batching


class LossInfo(NamedTuple):
    """Loss and diffusion time of every function of the batch, shape (b,); NaN without times."""

    losses: Float[Array, " b"]
    times: Float[Array, " b"]


class AbstractLoss(eqx.Module):
    """Loss of what is trained, a score or another law of functions, on a batch.

    Attributes:
        looped: Whether many steps are one compiled loop on a CPU too. There XLA makes convolutions
            fast outside of loops only (github.com/jax-ml/jax/issues/12868).
    """

    looped: ClassVar[bool] = True

    @abc.abstractmethod
    def __call__(
        self,
        score: Any,
        noising: Any,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch.

        Args:
            score: The score to train, or another module with parameters.
            noising: Forward process of a score; None for what has none.
            batch: Functions (b, n).
            key: Random key.
            batching: What the functions have in common, as their generator says.

        Returns:
            The loss, and that of each function with its time.
        """
