"""Probability integral transforms of held-out targets under a chosen law."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import softmax

from geomndp._types import Array, Batch, PRNGKeyArray
from geomndp.auto.held_out import HeldOut, with_array_parameters
from geomndp.auto.units import tasks_in_units
from geomndp.auto.validation import ValidationTasks
from geomndp.data import Normaliser
from geomndp.evaluate import calibration
from geomndp.model import Model
from geomndp.predictive import AbstractProcess
from geomndp.samplers import Amortised

NUM_SAMPLES = 64
SAMPLER = Amortised(25)
BATCH_SIZE = 16


def held_out_pit(
    process: AbstractProcess, units: Normaliser, tasks: ValidationTasks, *, key: PRNGKeyArray
) -> np.ndarray:
    """Transform of every target value under a law: exact, or its rank among samples.

    Args:
        process: A law in the model's units.
        units: These units.
        tasks: Tasks in the data's units.
        key: Random key of samples and ranks.

    Returns:
        Values in [0, 1], shape (tasks, targets, p); NaN for padding.
    """
    own, _, _ = tasks_in_units(tasks, units)
    start, shape = tasks.num_context, (len(tasks.x), -1, tasks.y.shape[2])
    if isinstance(process, Model):
        dtype = jnp.result_type(float)
        batch = Batch(*(jnp.asarray(values, dtype) for values in own[:4]))
        options = {"num_samples": NUM_SAMPLES, "sampler": SAMPLER, "batch_size": BATCH_SIZE}
        pit = calibration(process, batch, key=key, num_context=start, **options).pit
    else:
        with jax.enable_x64(True):
            pit = _exact(process, own)
    real = tasks.mask[:, start:, None] > 0
    return np.where(real, np.asarray(pit, np.float64).reshape(shape), np.nan)


def _exact(process: AbstractProcess, tasks: ValidationTasks) -> np.ndarray:
    arrays = tuple(jnp.asarray(values) for values in (tasks.x, tasks.y, tasks.context))
    return np.asarray(_distribution(with_array_parameters(process), arrays, tasks.num_context))


@eqx.filter_jit
def _distribution(process: AbstractProcess, tasks: tuple[Array, ...], start: int) -> Array:
    """Distribution functions at all targets; processes of one structure share the program."""

    def one(task):
        x, y, context = task
        law = process.condition(x[:start], y[:start], mask=context[:start])
        return law.marginals(x[start:]).cdf(y[start:])

    return jax.lax.map(one, tasks, batch_size=min(BATCH_SIZE, len(tasks[0])))


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
