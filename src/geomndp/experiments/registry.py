"""All experiments by name. A new one is a folder, or a module, and one line here. No JAX."""

from __future__ import annotations

from importlib import import_module

from geomndp import _validation
from geomndp.experiments.base import Deferred, Experiment, Unavailable
from geomndp.experiments.table import Table

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Table",
    "Unavailable",
    "demo",
    "experiment",
    "find",
    "models",
]

EXPERIMENTS: dict[str, str] = {
    "regression1d": "geomndp.experiments.regression1d.experiment",
    "vector-fields": "geomndp.experiments.vector_fields.experiment",
    "cyclones": "geomndp.experiments.cyclones.experiment",
    "neural-processes": "geomndp.experiments.neural_processes.experiment",
    "own-data": "geomndp.experiments.own_data.experiment",
    "sphere-fields": "geomndp.experiments.sphere_fields.experiment",
    "sphere-winds": "geomndp.experiments.sphere_winds.experiment",
    "flow-maps": "geomndp.experiments.flow_maps.experiment",
}
"""Name -> module whose `EXPERIMENT` it is."""

demo = Deferred("geomndp.experiments.demo", "run_demo")
"""The page of `geomndp demo`. No `Experiment`: it trains no model that ships and has no table."""


def experiment(name: str) -> Experiment:
    """Look up an experiment.

    Args:
        name: A key of `EXPERIMENTS`.

    Returns:
        The experiment.

    Raises:
        ValueError: If there is none of that name.
    """
    _validation.one_of("experiment", name, tuple(EXPERIMENTS))
    return import_module(EXPERIMENTS[name]).EXPERIMENT


def models() -> dict[str, Experiment]:
    """Every model that can be trained, with its experiment."""
    experiments = map(experiment, EXPERIMENTS)
    return {model: each for each in experiments for model in each.models}


def find(model: str) -> Experiment:
    """Look up the experiment of a model.

    Args:
        model: Name of the model, as `geomndp train` takes it.

    Returns:
        The experiment that trains it.

    Raises:
        ValueError: If no experiment trains a model of that name.
    """
    known = models()
    _validation.one_of("model", model, tuple(known))
    return known[model]
