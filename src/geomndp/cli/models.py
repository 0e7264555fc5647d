"""`geomndp list`, `geomndp train`, `geomndp evaluate`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from geomndp import _shipped
from geomndp.cli.commands import Evaluate, List, Train

REGIONS = ("interpolation", "generalisation")


def list_models(command: List) -> None:
    """Print the shipped models; reads their JSON only."""
    rows = {name: _shipped.metadata(name) for name in _shipped.names()}
    if command.json:
        print(json.dumps(rows, indent=1))
        return
    title = "Nats per target and regret to the exact GP, inside and outside the training range"
    table = Table(title=title, box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)
    for region in ("inside", "outside"):
        table.add_column(region, justify="right", no_wrap=True)
        table.add_column("regret", justify="right", no_wrap=True)
    for name, notes in rows.items():
        table.add_row(name, *(c for r in REGIONS for c in _cells(notes["metrics"].get(r))))
    Console().print(table)


def _cells(metrics: dict | None) -> tuple[str, str]:
    """Log-likelihood and regret."""
    if metrics is None:
        return "", ""
    if metrics["log_prob"][0] <= -10:
        return "below -10", ""
    return _brief(metrics["log_prob"], 3), _brief(metrics.get("regret"), 4)


def _brief(pair: list[float] | None, digits: int) -> str:
    """A number with its standard error in units of its last digit: 0.726(5)."""
    if pair is None:
        return ""
    mean, error = pair
    digits = digits if error * 10**digits < 10 else digits - 1
    return f"{mean:.{digits}f}({round(error * 10**digits)})"


def train(command: Train) -> None:
    """Train an experiment; the same command goes on where a stopped run was."""
    import jax.random as jr

    from geomndp.experiments.regression1d import in_full_precision
    from geomndp.model import fit

    experiments = _experiments(command.name)
    this = experiments.experiment(command.name)
    init_key, train_key = jr.split(jr.key(command.seed))
    model = experiments.make_model(this, key=init_key, compute_dtype=command.compute_dtype)
    model, history = fit(
        model,
        experiments.make_stream(this, *([command.batch_size] if command.batch_size else [])),
        steps=command.steps,
        key=train_key,
        loss=experiments.make_loss(),
        optimiser=experiments.make_optimiser(this, command.steps),
        directory=command.out,
        checkpoint_every=command.checkpoint_every,
        quiet=command.quiet,
    )
    path = Path(command.out) / "model"
    notes = {"experiment": command.name, "steps": command.steps, "seed": command.seed}
    notes |= {"training_seconds": float(history.seconds[-1]), "metrics": {}}
    in_full_precision(model).save(path, notes)
    Console().print(f"loss {history.loss[-1]:.4f} after {command.steps} steps; model: {path}")


def evaluate(command: Evaluate) -> None:
    """Score a model on the test functions of an experiment."""
    from geomndp.model import load

    model = load(command.name)
    name = command.experiment or _shipped.metadata(command.name).get("experiment", command.name)
    this = _experiments(name).experiment(name)
    options: dict[str, Any] = {"num": command.num, "route": command.route, "seed": command.seed}
    options |= {"probes": command.probes, "directory": command.out}
    with Console(stderr=True).status(f"{command.num} functions..."):
        if name.startswith("vector-fields/"):
            from geomndp import _checks
            from geomndp.experiments.score_fields import score as score_field

            _checks.one_of("region", command.region, REGIONS[:1])
            options["probes"] = command.probes or 8
            metrics = score_field(model, this, **options)
        else:
            from geomndp.experiments.score1d import score

            metrics = score(model, this, region=command.region, **options)
    if command.json:
        print(json.dumps(metrics))
        return
    for key, value in metrics.items():
        text = f"{value[0]:.4f} ± {value[1]:.4f}" if isinstance(value, list) else str(value)
        Console().print(f"{key}: {text}")


def _experiments(name: str):
    """The module that knows an experiment."""
    fields = name.startswith("vector-fields/")
    module = "vector_fields" if fields else "regression1d"
    return importlib.import_module(f"geomndp.experiments.{module}")
