"""Probability integral transforms of held-out targets under a chosen law."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.special import softmax

from geomndp._types import Batch, PRNGKeyArray
from geomndp.auto.held_out import HeldOut, full_batches
from geomndp.auto.units import tasks_in_units
from geomndp.auto.validation import ValidationTasks
from geomndp.data import Normaliser
from geomndp.evaluate import calibration
from geomndp.model import Model

NUM_SAMPLES = 32
STEPS = 20
"""Steps of the default sampler."""
BATCH_SIZE = 8
COST = 5.0
"""Seconds for a task, in units of those of its log-density by `VALIDATION_FLOW`: score evaluations
of both, roughly."""


def held_out_pit(
    model: Model, units: Normaliser, tasks: ValidationTasks, *, key: PRNGKeyArray
) -> np.ndarray:
    """Transform of every target value under a model: its rank among samples.

    Args:
        model: A model in its own units.
        units: These units.
        tasks: Tasks in the data's units.
        key: Random key of samples and ranks.

    Returns:
        Values in [0, 1], shape (tasks, targets, p); NaN for padding and missing values.
    """
    own, _, _ = tasks_in_units(tasks, units)
    sampler = model.condition().default_sampler(STEPS)
    start, known = tasks.num_context, tasks.value_mask() > 0
    dtype = jnp.result_type(float)
    arrays = (own.x, own.y, np.asarray(known.any(axis=2)), own.context)
    options = {"num_samples": NUM_SAMPLES, "sampler": sampler, "batch_size": BATCH_SIZE}
    pits = []
    for number, rows in enumerate(full_batches(len(known), BATCH_SIZE)):
        batch = Batch(*(jnp.asarray(values[rows], dtype) for values in arrays))
        own_key = jr.fold_in(key, number)
        found = calibration(model, batch, key=own_key, num_context=start, **options)
        pits.append(np.asarray(found.pit, np.float64))
    pit = np.concatenate(pits)[: len(known)]
    known = known[:, start:]
    return np.where(known, pit.reshape(known.shape), np.nan)


def mixture_pit(
    log_weights: np.ndarray, members: Sequence[HeldOut], pits: Sequence[np.ndarray]
) -> np.ndarray:
    """Transforms under a mixture, whose weights follow every task's context.

    Args:
        log_weights: Log of the weights before any context, shape (tasks, members).
        members: Log-densities of the contexts under every member.
        pits: Transforms under every member, shape (tasks, ...).

    Returns:
        Transforms, shape (tasks, ...).
    """
    context = np.stack([member.context for member in members])
    context = np.where(np.isfinite(context), context, -1e300)
    weights = softmax(log_weights.T + context, axis=0)
    return np.einsum("kt,kt...->t...", weights, np.stack(pits))
