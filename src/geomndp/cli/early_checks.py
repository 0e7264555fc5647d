"""What is refused before JAX is imported, which takes seconds; for tables, see `input_tables`."""

from __future__ import annotations

from pathlib import Path

from geomndp import _atomic_io, _pretrained, _validation
from geomndp.cli.commands import Demo, Evaluate, Reproduce, Train
from geomndp.experiments.registry import experiment, find


def check_demo(command: Demo) -> None:
    """Check numbers and the page."""
    _validation.at_least(2, num_samples=command.num_samples)
    _validation.at_least(0, steps=command.steps)
    _atomic_io.check_writable(Path(command.out) / "demo.html")


def check_train(command: Train) -> None:
    """Check numbers and the archive."""
    counts = {"steps": command.steps, "batch_size": command.batch_size}
    counts |= {"checkpoint_every": command.checkpoint_every, "functions": command.functions}
    _validation.at_least(1, **{name: value for name, value in counts.items() if value is not None})
    experiment = find(command.name)
    experiment.options(data=command.data, functions=command.functions, split=command.split)
    _check_there("data", command.data)


def check_evaluate(command: Evaluate) -> None:
    """Check the model, the archive and numbers."""
    _validation.at_least(1, num=command.num)
    _validation.one_of("route", command.route, ("conditional", "joint"))
    if command.probes is not None:
        _validation.at_least(1, probes=command.probes)
    _pretrained.document(_pretrained.find(command.name))
    _check_there("data", command.data)


def check_reproduce(command: Reproduce) -> None:
    """Check the table and files."""
    experiment(command.table)
    _validation.at_least(0, num=command.num)
    _check_there("results", command.results)
    if command.figures:  # maps alone need the archive
        _check_there("data", command.data)


def _check_there(option: str, path: str | None) -> None:
    if path is not None and not Path(path).exists():
        raise ValueError(f"expected a file or folder {path} for --{option}, got none")


CHECKS = {
    Demo: check_demo,
    Train: check_train,
    Evaluate: check_evaluate,
    Reproduce: check_reproduce,
}
