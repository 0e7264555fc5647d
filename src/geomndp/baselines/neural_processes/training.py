"""Train neural processes by the package's own loop: generators, checkpoints, averages, locks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import jax.random as jr
import optax

from geomndp import _validation
from geomndp._training_log import History
from geomndp._types import Array, Batch, Float, PRNGKeyArray, Scalar
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.data import SEPARATE, AbstractGenerator, Batching
from geomndp.linalg import zero_masked
from geomndp.noising import AbstractNoising
from geomndp.train import adam
from geomndp.train.abstract_loss import AbstractLoss, LossInfo
from geomndp.train.fit import as_generators
from geomndp.train.whole_run import averaged, train_from_start

PEAK_LEARNING_RATE = 5e-4
Process = TypeVar("Process", bound=AbstractNeuralProcess)


class NeuralProcessLoss(AbstractLoss):
    """Mean over functions of a neural process's own loss, of the targets given the context.

    Targets are the real points that are not context points; a function without any contributes
    nothing. Many processes are convolutional: on a CPU every step is a call of its own.
    """

    looped: ClassVar[bool] = False

    def __call__(
        self,
        score: AbstractNeuralProcess,
        noising: AbstractNoising | None,
        batch: Batch,
        *,
        key: PRNGKeyArray,
        batching: Batching = SEPARATE,
    ) -> tuple[Scalar, LossInfo]:
        """Loss of a batch.

        Args:
            score: The neural process.
            noising: Not used: there is none.
            batch: Functions (b, n), padded and marked per point.
            key: Random key.
            batching: Not used.

        Returns:
            The loss, and that of each function, with NaN for times.

        Raises:
            ValueError: If outputs are missing apart, or have known noise.
        """
        check_batch(batch)
        x, y = (jax.vmap(zero_masked)(v, batch.mask) for v in (batch.x, batch.y))
        context = batch.mask * batch.context
        targets = batch.mask * (1.0 - batch.context)

        def one(x, y, context, targets, key) -> Scalar:
            return score.function_loss(x, y, context, targets, key=key)

        losses = jax.vmap(one)(x, y, context, targets, jr.split(key, len(x)))
        losses, counted = _with_targets(losses, targets)
        mean = jnp.sum(losses) / jnp.maximum(jnp.sum(counted), 1.0)
        return mean, LossInfo(losses, jnp.full_like(losses, jnp.nan))


def check_batch(batch: Batch) -> None:
    """Refuse functions that a neural process cannot learn from.

    Args:
        batch: Functions (b, n).

    Raises:
        ValueError: If outputs are missing apart, or have known noise.
    """
    if batch.mask.ndim != 2 or batch.context.ndim != 2:
        raise ValueError("expected points that have all outputs or none, got outputs missing apart")
    if batch.noise is not None:
        raise ValueError("expected values without known noise, which is learnt, got variances")


def _with_targets(
    losses: Float[Array, " b"], targets: Float[Array, "b n"]
) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
    """Losses of the functions that have targets, zero for others, and which those are."""
    counted = jnp.max(targets, axis=1, initial=0.0)
    return jnp.where(counted > 0, losses, 0.0), counted


def fit_process(
    process: Process,
    generator: AbstractGenerator | Sequence[AbstractGenerator],
    *,
    steps: int,
    key: PRNGKeyArray,
    optimiser: optax.GradientTransformation | None = None,
    **options: Any,
) -> tuple[Process, History]:
    """Train a neural process.

    Args:
        process: Process with the initial parameters.
        generator: Source of training batches with contexts, or several that are interleaved.
        steps: Number of steps.
        key: Random key of all batches and of the loss.
        optimiser: By default `adam(steps, peak=5e-4)`.
        **options: Those of `geomndp.train.fit_score`: `ema_decay`, `chunk`, `directory`,
            `checkpoint_every`, `keep`, `devices`, `quiet`, `model_settings`.

    Returns:
        The process with averaged parameters, and the history of losses.

    Raises:
        TrainingDiverged: If a loss or gradient is not finite.

    Example:
        `process, history = fit_process(TETNP(1, 1, key=key), generator, steps=1000, key=key)`
    """
    _validation.at_least(1, steps=steps)
    optimiser = adam(steps, peak=PEAK_LEARNING_RATE) if optimiser is None else optimiser
    generators, loss = as_generators(generator), NeuralProcessLoss()
    run = train_from_start(
        process, None, generators, loss, optimiser, steps=steps, key=key, **options
    )
    return averaged(*run[:2]), run[2]


__all__ = ["PEAK_LEARNING_RATE", "NeuralProcessLoss", "check_batch", "fit_process"]
