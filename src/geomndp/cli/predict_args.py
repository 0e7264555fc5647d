"""`geomndp sample` and `geomndp condition`, as plain dataclasses: parsing imports no JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Arguments of both commands."""

    name: Annotated[Positional[str], arg(metavar="MODEL")]
    """Shipped model (geomndp list), a path to one, or the folder of a training."""
    targets: tuple[str, ...]
    """Target locations: a file (.csv, .parquet, .nc) with the model's inputs, or a range for each
    input: start:stop:step or start:stop:30pts, numbers such as 0,0.5,2, or, for datetimes,
    2024-09-01/2024-09-04/6h or 2024-09-01,2024-09-04. Several inputs, each as name=range, make a
    grid."""
    out: str | None = None
    """File for the result: .nc, .parquet, .csv or .geojson, or a Zarr store (.zarr): a field of any
    size, drawn patch by patch and resumed if it was stopped; by default CSV is printed."""
    num_samples: int = 64
    """Samples to draw."""
    seed: int = 0
    """Seed of all random numbers: the same seed, the same samples."""
    summary: bool = False
    """Mean, standard deviation and quantiles (columns OUTPUT_mean, OUTPUT_sd, OUTPUT_q05, ...)
    instead of samples, each with its Monte Carlo standard error (..._error); for locations on the
    Earth their mean and the spread in km."""
    quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)
    """Levels of the quantiles of a summary."""
    interval: float | None = None
    """Probability of an interval beside the summary (columns OUTPUT_low, OUTPUT_high), such as 0.9:
    of a model that a fit chose, with the level that its held-out functions corrected."""
    columns: tuple[str, ...] = ()
    """Names of the model's inputs and outputs in the files, where they differ: lat=LAT lon=LON."""
    origin: str | None = None
    """Datetime from which times count, such as 2024-08-30T06:00, where the model learnt elapsed
    time: a storm's first moment. By default the earliest observation, or target without any."""
    sampler: str | None = None
    """Sampler, as NAME or NAME:OPTION=VALUE,...: adams (default for real outputs), amortised
    (default on the sphere), flow, adaptive-flow, flow-map (of distilled models), langevin,
    kinetic-langevin, moment-matching, repaint, replacement or twisted-smc."""
    steps: int | None = None
    """Steps of the sampler; its own number by default."""
    patches: str | None = None
    """Draw patch by patch: "auto" (with --out field.zarr the default), or width=15,halo=6 in the
    units of the inputs; 15x2 for inputs of different units."""
    device: str | None = None
    """"cpu", "gpu", ...; the fastest there is by default."""
    dtype: str = "float32"
    """"float32" or "float64"."""
    json: bool = False
    """Print JSON for machines."""


@dataclass(frozen=True, kw_only=True)
class Sample(Predict):
    """Draw functions from a model's prior: `condition` without observations.

    Example: geomndp sample regression1d/se --targets -2:2:0.05 --num-samples 5 --out draws.csv
    """


@dataclass(frozen=True, kw_only=True)
class Condition(Predict):
    """Draw functions from a model's posterior given observations in a file.

    Example: geomndp condition vector-fields/div-free stations.csv --targets x=-10:10:30pts
    y=-10:10:30pts --num-samples 32 --steps 20 --summary --out field.nc

    Example: geomndp condition cyclones/ibtracs fixes.csv --targets 0:6:0.125 --obs-std 20
    --num-samples 100 --out tracks.geojson

    Example: geomndp condition regression1d/se --tasks series.csv --targets -2:2:0.1
    --num-samples 16 --summary --out predictions.csv
    """

    observations: Annotated[Positional[str], arg(metavar="OBSERVATIONS")] = ""
    """File of observations: .csv, .parquet or .nc, with the model's columns."""
    tasks: str | None = None
    """Many independent tasks instead: a folder with a file of observations for each, or one table
    with a column of tasks. Needs --out; a command that was stopped resumes there."""
    task_column: str = "task"
    """Column that says which task a row is of, in observations, targets (where it is there) and the
    result."""
    scheduler: str | None = None
    """Who computes tasks, or the patches of a Zarr store: this process, "threads", or the
    address of a dask scheduler."""
    drop_missing: bool = False
    """Leave out observations that lack an output; by default what there is of them counts."""
    obs_std: str = "0"
    """Standard deviation of the observation noise, in the outputs' units (km for locations on the
    Earth), or the column that has it."""


def check_interval(command: Predict) -> None:
    """Refuse an interval that is none, or that nothing would show."""
    if not 0 < (command.interval or 0) < 1:
        raise ValueError(
            f"expected an interval of a probability such as 0.9, got {command.interval}"
        )
    if not isinstance(command, Condition):
        raise ValueError(
            "expected observations (geomndp condition) with --interval, whose levels are those of "
            "posteriors, got none"
        )
    many = command.tasks is not None
    if many or not command.summary:
        got = "--tasks" if many else "samples"
        raise ValueError(f"expected --interval beside --summary of one function, got {got}")
