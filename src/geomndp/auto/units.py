"""Functions and tasks in the units of a normaliser, in double precision."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Batch
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.validation import ValidationTasks
from geomndp.data import FixedInputsGenerator, Normaliser, ResampledGenerator
from geomndp.data.column_means import column_means
from geomndp.tables import Functions


def with_transform(units: Normaliser, functions: Functions, transform: tuple) -> Normaliser:
    """Units of zero mean and unit variance per output after a transform; inputs stay.

    Args:
        units: Units without a transform.
        functions: Functions in the data's units.
        transform: Transforms of the outputs; none leaves the units as they are.

    Returns:
        The normaliser.
    """
    if not transform:
        return units
    plain = dataclasses.replace(units, y_shift=0.0, y_scale=1.0, transform=transform)
    known = _by_value(functions.mask)
    filled = np.where(known, functions.y, _first_values(functions.y, known))
    values = np.where(known, np.asarray(plain.forward_y(filled)), np.nan).reshape(
        -1, filled.shape[2]
    )
    shift = column_means(values)
    scale = np.sqrt(column_means((values - shift) ** 2))
    return dataclasses.replace(plain, y_shift=shift, y_scale=np.where(scale > 0, scale, 1.0))


def functions_in_units(functions: Functions, units: Normaliser) -> Batch:
    """All functions in the model's units, float64 NumPy arrays.

    Args:
        functions: Functions in the data's units.
        units: The model's units.

    Returns:
        A batch without contexts.
    """
    x = np.asarray(units.forward_x(_real_inputs(functions.x, functions.rows)))
    known = _by_value(functions.mask)
    filled = np.where(known, functions.y, _first_values(functions.y, known))
    mask = functions.mask.astype(np.float64)
    arrays: Any = (x, np.asarray(units.forward_y(filled)), mask, np.zeros_like(mask))
    return Batch(*arrays)


def _by_value(mask: Any) -> Any:
    """A mask of points or of values as one that meets values (b, n, p)."""
    return mask if mask.ndim == 3 else mask[..., None]


def _first_values(y: np.ndarray, known: np.ndarray) -> np.ndarray:
    """One known value per output, which a transform allows, shape (p,); NaN where none is known."""
    known = np.broadcast_to(known, y.shape)
    columns = [column[there] for column, there in zip(y.T, known.T, strict=True)]
    return np.array([column[0] if len(column) else np.nan for column in columns])


def _real_inputs(x: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Inputs (b, n, d); padding has those of a function's first real point."""
    first = np.argmax(real, axis=1)[:, None, None]
    return np.where(real[..., None], x, np.take_along_axis(x, first, axis=1)).astype(np.float64)


def tasks_in_units(
    tasks: ValidationTasks, units: Normaliser
) -> tuple[ValidationTasks, np.ndarray, np.ndarray]:
    """Tasks in the model's units, and the log-Jacobians of their targets and of their contexts.

    Args:
        tasks: Tasks in the data's units.
        units: The model's units.

    Returns:
        Tasks, and nats to add to log-densities in the model's units, twice shape (tasks,).
    """
    known = tasks.value_mask() > 0
    first = _first_values(tasks.y, known)
    # Tasks of few functions may lack an output: then the centre of its units.
    centre = np.asarray(units.inverse_y(np.zeros((1, len(first)))))[0]
    filled = np.where(known, tasks.y, np.where(np.isnan(first), centre, first))
    x = _real_inputs(tasks.x, np.asarray(known.any(axis=2)))
    with jax.enable_x64(True):
        log_jacobian = jax.jit(jax.vmap(units.log_jacobian))
        masks = (tasks.mask - tasks.context, tasks.context)
        nats = [log_jacobian(jnp.asarray(filled), jnp.asarray(mask)) for mask in masks]
    x, y = np.asarray(units.forward_x(x)), np.asarray(units.forward_y(filled))
    return tasks._replace(x=x, y=y), np.asarray(nats[0]), np.asarray(nats[1])


def plan_in_units(plan: TrainingPlan, units: Normaliser) -> TrainingPlan:
    """The plan with its model and training functions in other units of the outputs.

    Args:
        plan: A plan with functions.
        units: The units.

    Returns:
        The plan.
    """
    if plan.functions is None or units == plan.model.normaliser:
        return plan
    batch = functions_in_units(plan.functions, units)
    dtype = jnp.result_type(float)
    y = jnp.asarray(batch.y, dtype)
    data = plan.data
    if isinstance(data, FixedInputsGenerator):
        data = dataclasses.replace(data, y=y)
    elif isinstance(data, ResampledGenerator):
        mask = (
            data.functions.mask if data.functions.mask.ndim == 3 else data.functions.mask[..., None]
        )
        y = jnp.where(mask > 0, y, 0.0)
        data = dataclasses.replace(data, functions=data.functions._replace(y=y))
    model = dataclasses.replace(plan.model, normaliser=units)
    return dataclasses.replace(plan, model=model, data=data)
