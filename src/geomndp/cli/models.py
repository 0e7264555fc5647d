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
