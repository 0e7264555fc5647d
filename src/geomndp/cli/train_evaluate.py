"""`geomndp train`, `geomndp evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from geomndp import _model_files
from geomndp._progress import busy
from geomndp.cli.commands import Evaluate, Train
from geomndp.experiments.registry import Experiment, find, models


def train(command: Train, table: Any = None) -> None:
    """Train an experiment, or on a table; the same command resumes a stopped run."""
    if table is not None:
        from geomndp.cli.own_data import train_on_table

        return train_on_table(command, table, _network_options(command.net))
    import jax.random as jr

    from geomndp.auto import fit
    from geomndp.train import adam
    from geomndp.train.lock import hold

    experiment, name, rate = find(command.name), command.name, command.peak_rate
    data = experiment.options(data=command.data, functions=command.functions, split=command.split)
    steps = experiment.steps if command.steps is None else command.steps
    batch_size = experiment.batch_size if command.batch_size is None else command.batch_size
    with hold(Path(command.out)):  # refused before the data are made; `fit` holds it again
        pass
    generator = experiment.generator(name, batch_size, **data)
    init_key, train_key = jr.split(jr.key(command.seed))
    _, history = fit(
        _build_model(experiment, command, init_key),
        generator,
        steps=steps,
        key=train_key,
        loss=experiment.loss(),
        optimiser=experiment.optimiser(name, steps) if rate is None else adam(steps, peak=rate),
        directory=command.out,
        notes=_notes(command, batch_size, data),
        checkpoint_every=command.checkpoint_every,
        quiet=command.quiet,
    )
    path = Path(command.out) / "model"
    Console(markup=False).print(f"loss {history.loss[-1]:.4f} after {steps} steps; model: {path}")


def _build_model(experiment: Experiment, command: Train, key: Any) -> Any:
    """The model of a command before training."""
    options = {"compute_dtype": command.compute_dtype, **_network_options(command.net)}
    try:
        model = experiment.model(command.name, key=key, **options)
    except TypeError as error:
        raise ValueError(f"expected options of the network, got {command.net}: {error}") from error
    return model if command.start is None else _start_from(model, command.start)


def _notes(command: Train, batch_size: int, data: dict[str, Any]) -> dict[str, Any]:
    """What is kept beside the model: how it was trained."""
    notes = {"experiment": command.name, "seed": command.seed, "batch_size": batch_size}
    notes |= {"start": command.start, "peak_rate": command.peak_rate, "metrics": {}}
    return notes | {option: value for option, value in data.items() if option != "data"}


def _start_from(model: Any, start: str) -> Any:
    """An untrained model with the parameters of the one it starts from.

    Networks of angular orders may come from another surface, such as from the plane to the sphere.
    """
    import dataclasses

    from geomndp.model import Model, load
    from geomndp.nets import with_parameters_of
    from geomndp.nets.steerable_2d.circular_network import AbstractCircularNet

    old: Any = load(start)
    if not isinstance(old, Model):
        raise ValueError(f"expected a start with a network, got a {type(old).__name__}")
    score: Any = model.score
    start_score: Any = old.score
    if old.noising != model.noising:
        raise ValueError(f"expected a start with the same noising and limiting law, got {start!r}")
    net_type, start_type = type(score.net), type(start_score.net)
    circular = all(issubclass(kind, AbstractCircularNet) for kind in (net_type, start_type))
    if net_type is not start_type and not circular:
        raise ValueError(
            f"expected a start with a {net_type.__name__}, got a {start_type.__name__}"
        )
    net = with_parameters_of(score.net, start_score.net)
    return dataclasses.replace(model, score=dataclasses.replace(score, net=net))


def _network_options(text: str) -> dict[str, Any]:
    """Read the options of a network."""
    try:
        options = json.loads(text)
    except json.JSONDecodeError:
        options = None
    if not isinstance(options, dict):
        raise ValueError(f"expected options of the network as a JSON object, got {text!r}")
    return options


def evaluate(command: Evaluate, table: Any = None) -> None:
    """Evaluate a model on the test functions of an experiment, or on those of a table."""
    if table is not None:
        from geomndp.cli.own_data import evaluate_on_table

        return evaluate_on_table(command, table)
    from geomndp.model import Model, load

    model, notes = load(command.name), _model_files.metadata(command.name)
    name = command.experiment or notes.get("experiment", command.name)
    if not isinstance(model, Model) and not (name in models() and find(name).any_process):
        got = f"a {type(model).__name__}: geomndp evaluate MODEL TABLE takes any model"
        raise ValueError(f"expected a network for the test functions of an experiment, got {got}")
    experiment = find(name)
    data = experiment.options(data=command.data, split=notes.get("split"))
    num = 64 if command.num is None else command.num
    with busy(f"evaluating {num} functions"):
        metrics = experiment.evaluate(
            model,
            name,
            num=num,
            region=command.region or experiment.regions[0],
            route=command.route,
            probes=command.probes,
            seed=command.seed,
            directory=command.out,
            **data,
        )
    if command.json:
        print(json.dumps(metrics))
        return
    for key, value in metrics.items():
        text = f"{value:.3g}" if isinstance(value, float) else str(value)
        text = f"{value:.1f}" if isinstance(value, float) and abs(value) >= 100 else text
        text = f"{value[0]:.4f} ± {value[1]:.4f}" if isinstance(value, list) else text
        Console(markup=False).print(f"{key}: {text}")
