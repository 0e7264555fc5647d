"""`geomndp distil`: a student of a trained model; the same command resumes a stopped run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.random as jr
from rich.console import Console

from geomndp import _model_files
from geomndp.cli.distil_args import Distil
from geomndp.cli.function_tables import function_column
from geomndp.distillation import EnergyScoreLoss, TrajectoryLoss, distil as make_student
from geomndp.experiments.registry import find
from geomndp.model import Model, load
from geomndp.train import adam
from geomndp.train.lock import hold


def distil(command: Distil, table: Any = None) -> None:
    """Make a student of the model that the command names, on its experiment or on a table."""
    with hold(Path(command.out)):  # refused before the data are made; the training holds it again
        pass
    model, notes = load(command.name), _model_files.metadata(command.name)
    options: dict[str, Any] = {"function": function_column(command, notes)}
    name = command.experiment or notes.get("experiment", command.name)
    if table is None:
        table, options = _experiment_data(command, name, notes), {}
    if command.energy_weight and isinstance(model, Model):
        base = TrajectoryLoss(model.score, model.t_min)
        options["loss"] = EnergyScoreLoss(base, command.energy_weight)
    if command.start is not None:
        options["start"] = load(command.start)
    _, calls = make_student(
        model,  # pyright: ignore[reportArgumentType]
        table,
        steps=command.steps,
        key=jr.key(command.seed),
        optimiser=adam(command.steps, peak=command.peak_rate),
        num_solved=command.num_solved,
        compute_dtype=command.compute_dtype,
        directory=command.out,
        notes=_notes(command, name, notes),
        num_tasks=command.num_tasks,
        checkpoint_every=command.checkpoint_every,
        quiet=command.quiet,
        **options,
    )
    console = Console()
    console.print(str(calls), highlight=False, soft_wrap=True)
    console.print(f"student: {Path(command.out) / 'model'}", highlight=False, soft_wrap=True)


def _experiment_data(command: Distil, name: str, notes: dict[str, Any]) -> Any:
    """Training functions of an experiment, as the teacher had them."""
    experiment = find(name)
    size = experiment.batch_size if command.batch_size is None else command.batch_size
    given = {"data": command.data, "split": notes.get("split")}
    known = {k: v for k, v in given.items() if k in experiment.data_options or k == "data"}
    return experiment.generator(name, size, **experiment.options(**known))


def _notes(command: Distil, name: str, notes: dict[str, Any]) -> dict[str, Any]:
    """What is kept beside the student: whose it is and how it was trained."""
    kept = {key: notes[key] for key in ("split", "function") if key in notes}
    record = {"teacher": command.name, "seed": command.seed, "start": command.start, "metrics": {}}
    names = ("peak_rate", "energy_weight", "num_solved", "compute_dtype")
    record |= {name: getattr(command, name) for name in names}
    return {"experiment": name} | kept | record
