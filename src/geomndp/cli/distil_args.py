"""`geomndp distil`, as a plain dataclass: parsing imports no JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg


@dataclass(frozen=True)
class Distil:
    """Make a student of a trained model, which samples in one to a few network calls.

    Example: geomndp distil regression1d/se --steps 30000 --out runs/se-student
    """

    name: Annotated[Positional[str], arg(metavar="MODEL")]
    """Teacher: a shipped model, a path to one, or the folder of a training."""
    training_table: Annotated[Positional[str], arg(metavar="TABLE")] = ""
    """File of training functions (.csv, .parquet, .nc) with the model's columns; without, those of
    the model's experiment."""
    function: str | None = None
    """On a table: column that names the function of a row; that of the training by default."""
    out: Annotated[str, arg(help="Folder for log, checkpoints and the student.")] = "student"
    steps: int = 8000
    """Training steps."""
    batch_size: int | None = None
    """Functions per step of an experiment; its own number by default."""
    seed: int = 1
    """Seed of parameters and data."""
    start: str | None = None
    """Student (path or folder) whose parameters training starts from; by default the teacher's."""
    peak_rate: float = 1e-3
    """Highest learning rate."""
    num_solved: int | None = None
    """Batches whose flow is solved beforehand and used again; by default one per 100 steps."""
    compute_dtype: str | None = None
    """Precision of the student's products in training, such as bfloat16."""
    energy_weight: float = 0.0
    """Weight of the energy score of samples in 1 and 4 calls beside the distillation loss."""
    experiment: str | None = None
    """Experiment whose training functions are used, if the model is not named like one."""
    data: str | None = None
    """For cyclones the archive of tracks, a file or folder, by default $GEOMNDP_IBTRACS; for winds
    the folder of weather fields, by default $GEOMNDP_DATA/weather."""
    num_tasks: int = 16
    """Functions of the table at the end, at most one batch; 0 for no table."""
    checkpoint_every: int = 2000
    """Steps between checkpoints."""
    quiet: bool = False
    """No progress bar."""
