"""`geomndp list`, `geomndp train`, `geomndp evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

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
    table = Table(
        title="Shipped models (log-likelihood in nats per target; regret to the exact GP)"
    )
    table.add_column("model", no_wrap=True)
    table.add_column("steps", justify="right")
    for region in REGIONS:
        table.add_column(region, justify="right")
        table.add_column("regret", justify="right")
    for name, notes in rows.items():
        cells = [cell for region in REGIONS for cell in _cells(notes["metrics"].get(region))]
        table.add_row(name, str(notes["steps"]), *cells)
    Console().print(table)


def _cells(metrics: dict | None) -> tuple[str, str]:
    if metrics is None:
        return "", ""
    mean, error = metrics["log_prob"]
    regret = metrics.get("regret")
    value = f"{mean:.3f} ± {error:.3f}" if mean > -10 else "below -10"
    return value, "" if regret is None or mean <= -10 else f"{regret[0]:.4f} ± {regret[1]:.4f}"


def train(command: Train) -> None:
    """Train an experiment; the same command goes on where a stopped run was."""
    import jax.random as jr

    from geomndp.experiments import regression1d as experiments
    from geomndp.model import fit

    this = experiments.experiment(command.name)
    init_key, train_key = jr.split(jr.key(command.seed))
    model = experiments.make_model(this, key=init_key, compute_dtype=command.compute_dtype)
    model, history = fit(
        model,
        experiments.make_stream(this, command.batch_size),
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
    experiments.in_full_precision(model).save(path, notes)
    Console().print(f"loss {history.loss[-1]:.4f} after {command.steps} steps; model: {path}")


def evaluate(command: Evaluate) -> None:
    """Score a model on the test functions of an experiment."""
    from geomndp.experiments import regression1d as experiments
    from geomndp.experiments.score1d import score
    from geomndp.model import load

    model = load(command.name)
    name = command.experiment or _shipped.metadata(command.name).get("experiment", command.name)
    with Console(stderr=True).status(f"{command.num} functions..."):
        metrics = score(
            model,
            experiments.experiment(name),
            num=command.num,
            region=command.region,
            route=command.route,
            probes=command.probes,
            seed=command.seed,
            directory=command.out,
        )
    if command.json:
        print(json.dumps(metrics))
        return
    for key, value in metrics.items():
        text = f"{value[0]:.4f} ± {value[1]:.4f}" if isinstance(value, list) else str(value)
        Console().print(f"{key}: {text}")
