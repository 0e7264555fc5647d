"""Neural processes for a user's own functions: a plan for their training."""

from __future__ import annotations

import inspect
from typing import Any

import jax.numpy as jnp
import numpy as np

from geomndp._methods import ROLLED_OUT
from geomndp._types import PRNGKeyArray
from geomndp.auto.data_statistics import density, normaliser
from geomndp.auto.defaults import TRAINING_BATCH, wavelengths
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.summary import process_choices
from geomndp.auto.training_stream import training_stream
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.baselines.neural_processes.grid_process import AbstractGridProcess
from geomndp.baselines.neural_processes.methods import process_class
from geomndp.baselines.neural_processes.network_process import Extent
from geomndp.baselines.neural_processes.training import (
    PEAK_LEARNING_RATE,
    NeuralProcessLoss,
)
from geomndp.data import Normaliser
from geomndp.equivariance import FieldType
from geomndp.model import ProcessModel
from geomndp.tables import Functions

WORDS = {
    "num_invariant_inputs": "covariates",
    "periods": "periodic inputs",
    "representations": "representations of outputs",
}
"""What a user calls that which some processes have no option for."""
CONTEXT_SHARE = 1.0  # of the training functions; some of these contexts have no points
PLANE_BATCH = 16  # functions on a grid of two axes: what a CPU computes in seconds


def process_plan(
    functions: Functions,
    method: str,
    symmetry: str,
    rigid: FieldType | None,
    periods: tuple[float, ...],
    options: dict[str, Any],
    *,
    batch_size: int | None,
    key: PRNGKeyArray,
) -> TrainingPlan:
    """Plan to train a neural process.

    Args:
        functions: Functions in the data's units.
        method: Name of the process.
        symmetry: That of `gn.build`; E(2) is what a SteerCNP has.
        rigid: What the outputs are under motions of space, None without these.
        periods: Period of every input in the data's units; `()` for none.
        options: Options of the process instead of the chosen ones.
        batch_size: Functions per batch; None for 64, on grids of two axes 16.
        key: Random key of the parameters.

    Returns:
        A plan for `gn.fit(plan, steps=..., key=...)`.

    Raises:
        ValueError: If the process cannot learn from such functions.
    """
    _check_functions(functions, method, symmetry, rigid)
    units = normaliser(functions, rigid, periods)
    process = untrained_process(functions, units, method, rigid, options, key=key)
    model = ProcessModel(process, units, functions.variables)
    size = default_batch_size(process) if batch_size is None else batch_size
    data = training_stream(functions, units, size, False, context_share=CONTEXT_SHARE)
    words = process_choices(functions, model, data, method, PEAK_LEARNING_RATE)
    return TrainingPlan(model, data, NeuralProcessLoss(), PEAK_LEARNING_RATE, words, functions)


def default_batch_size(process: AbstractNeuralProcess) -> int:
    """Functions per batch that suit a CPU.

    Args:
        process: The process to train.

    Returns:
        64, or 16 where every function has a grid of two axes.
    """
    while isinstance(process, Autoregressive):
        process = process.process
    plane = isinstance(process, AbstractGridProcess) and process.grid_dim > 1
    return PLANE_BATCH if plane else TRAINING_BATCH


def _check_functions(
    functions: Functions, method: str, symmetry: str, rigid: FieldType | None
) -> None:
    about = functions.variables
    if about.codomain != "real":
        raise ValueError(f"expected codomain 'real' for {method}, got {about.codomain!r}")
    if (symmetry == "E(2)") != method.endswith("steercnp") or symmetry == "E(3)":
        wanted = "'E(2)'" if method.endswith("steercnp") else "'translation' or 'none'"
        raise ValueError(f"expected symmetry {wanted} for {method}, got {symmetry!r}")
    if functions.mask.ndim == 3:
        raise ValueError(f"expected drop_missing=True for {method}, got outputs missing apart")
    if functions.noise is not None:
        raise ValueError(f"expected no known noise for {method}, which learns it, got variances")


def untrained_process(
    functions: Functions,
    units: Normaliser,
    method: str,
    rigid: FieldType | None,
    options: dict[str, Any],
    *,
    key: PRNGKeyArray,
) -> AbstractNeuralProcess:
    """A neural process sized by the data.

    Args:
        functions: Functions in the data's units.
        units: The model's units.
        method: Name of the process.
        rigid: What the outputs are under motions of space, None without these.
        options: Options of the process instead of the chosen ones.
        key: Random key of the parameters.

    Returns:
        The process with its initial parameters.

    Raises:
        ValueError: If the process has no such option, or takes no covariates or periods.
    """
    cls, about = process_class(method.removeprefix(ROLLED_OUT)), functions.variables
    known = inspect.signature(cls.config_type).parameters
    chosen: dict[str, Any] = {"dtype": jnp.dtype(jnp.result_type(float)).name}
    x, rows, d = np.asarray(units.forward_x(functions.x)), functions.rows, about.num_inputs
    if "min_wavelength" in known:
        spaced = density(x[:, :, :d], rows, periods=units.model_periods[:d])
        chosen |= wavelengths(spaced.spacing, spaced.extent)
    needed: dict[str, Any] = {"num_invariant_inputs": about.num_covariates or None}
    needed["periods"] = units.model_periods if any(units.model_periods) else None
    needed["representations"] = None if rigid is None else rigid.representations
    given = {name: value for name, value in needed.items() if value is not None}
    for name in given:
        if name not in known:
            raise ValueError(f"expected data without {WORDS[name]} for {method}, got some")
    if unknown := [name for name in options if name not in known]:
        listed = ", ".join(known)
        raise ValueError(f"expected options for {cls.__name__} ({listed}), got {unknown[0]!r}")
    box = _box_of_one(x, rows)
    process = cls.for_data(len(about.inputs), about.dim, box, key=key, **chosen | given | options)
    return Autoregressive(process) if method.startswith(ROLLED_OUT) else process


def _box_of_one(x: np.ndarray, rows: np.ndarray) -> Extent:
    """Lowest and highest inputs of a box in which every function fits, moved to where it is.

    Of functions of single points it is that of all points.
    """
    real = rows[:, :, None]
    low, high = np.where(real, x, np.inf).min(axis=1), np.where(real, x, -np.inf).max(axis=1)
    ranges = (high - low)[rows.any(axis=1)].max(axis=0)
    if not ranges.any():
        ranges = np.ptp(x[rows], axis=0)
    return tuple((-0.5 * float(width), 0.5 * float(width)) for width in ranges)
