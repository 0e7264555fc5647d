"""What is measured of trained models of fields on the sphere, into one file of results.

python -m geomndp.experiments.sphere_fields.measure runs/sphere/div-free --out results.json

Folders are those that `geomndp train` wrote; likelihoods and regrets at all kinds of points, by
`geomndp evaluate` too, go to `results.json` in the run's folder. A model may also be named, such as
sphere-fields/div-free: then they go to the file of results, as do divergence and curl of samples.
A part that stands in a file is not measured again.
"""

from __future__ import annotations

import argparse
from os import PathLike
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Batch, Float
from geomndp.evaluate.sphere_physics import posterior_physics, sphere_physics
from geomndp.experiments import results
from geomndp.experiments.sphere_fields.evaluate import evaluate_region
from geomndp.experiments.sphere_fields.experiment import MODELS, REGIONS
from geomndp.experiments.sphere_fields.training import problem_for
from geomndp.experiments.vector_fields.physics import drawn
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import Model, load
from geomndp.samplers import AbstractSampler, adams

SCORES = "results.json"
SAMPLER = adams(24)
"""The default sampler of a posterior."""
TASKS = 4
"""Contexts over which posterior samples are spread."""


def evaluate_run(
    name: str, model: Model, path: str | PathLike, *, num: int = 512, regions=REGIONS, **options
) -> None:
    """Log-likelihoods and regrets on `num` fields of every region, into a file of results."""
    for region in regions:
        keys = ("scores", name, region, "conditional")
        if results.lookup(results.read(path), *keys) is None:
            kept = Path(path).parent / "blocks" / name / region
            metrics = evaluate_region(
                model, problem_for(name), region, num=num, directory=kept, **options
            )
            results.update(path, keys, metrics)


def measure_physics(
    name: str,
    model: Model,
    path: str | PathLike,
    *,
    samples: int = 512,
    sampler: AbstractSampler,
) -> None:
    """Divergence and curl of prior and of posterior samples of a model of tangent fields.

    Args:
        name: Model of the experiment whose data are used.
        model: Trained model.
        path: File of results.
        samples: Number of prior samples; as many posterior ones, spread over `TASKS` contexts.
        sampler: Of both.
    """
    problem, keys = problem_for(name), ("physics", name)
    if problem.gp.dim != 2 or results.lookup(results.read(path), *keys) is not None:
        return
    lengthscale = MODELS[name].lengthscale
    fields = drawn(model, problem.grid, num=samples, key=jr.key(0), batch_size=8, sampler=sampler)
    tasks = problem.tasks(TASKS, dtype="float32")
    given = posterior_fields(model, tasks, max(samples // TASKS, 1), sampler)
    metrics = {
        "prior": sphere_physics(problem, fields, lengthscale=lengthscale),
        "posterior": posterior_physics(problem, tasks, given, lengthscale=lengthscale),
    }
    results.update(path, keys, metrics)


def posterior_fields(
    model: Model, tasks: Batch, num: int, sampler: AbstractSampler
) -> Float[np.ndarray, "k s n p"]:
    """Samples of the targets of every task, with the observed values at the context points.

    Args:
        model: Trained model.
        tasks: Fields with their context, k of them.
        num: Samples s of each.
        sampler: Of the posterior.
    """
    fields = np.repeat(np.asarray(tasks.y, float)[:, None], num, axis=1)
    for k, key in enumerate(jr.split(jr.key(1), len(fields))):
        known = np.asarray(tasks.context[k]) > 0
        posterior = model.condition(tasks.x[k][jnp.asarray(known)], tasks.y[k][jnp.asarray(known)])
        targets = tasks.x[k][jnp.asarray(~known)]
        drawn_there = posterior.sample(targets, key=key, num_samples=num, sampler=sampler)
        fields[k][:, ~known] = np.asarray(drawn_there)
    return fields


def main() -> None:
    """Measure every model."""
    parser = argparse.ArgumentParser(description="Measure models of fields on the sphere.")
    parser.add_argument("runs", nargs="+", help="folders of trainings, or names of models")
    parser.add_argument("--out", required=True)
    parser.add_argument("--num", type=int, default=512, help="test fields of every region")
    parser.add_argument(
        "--samples", type=int, default=512, help="samples of the physical check, 0 for none"
    )
    parser.add_argument("--regions", nargs="*", choices=REGIONS, default=REGIONS)
    parser.add_argument("--probes", type=int, default=8, help="random probes of the divergence")
    parser.add_argument("--steps", type=int, default=16, help="steps (RK4) of the flow")
    parser.add_argument("--batch-size", type=int, default=32, help="fields side by side")
    options = parser.parse_args()
    _validation.at_least(2, probes=options.probes)  # of one probe the error is not known
    flow = Flow(steps=options.steps, divergence=Hutchinson(options.probes))
    for run in options.runs:
        path, scores = (run, options.out) if run in MODELS else (f"{run}/model", f"{run}/{SCORES}")
        name, model = _model_files.metadata(path)["experiment"], load(path)
        settings = {"probes": options.probes, "batch_size": options.batch_size, "flow": flow}
        evaluate_run(name, model, scores, num=options.num, regions=options.regions, **settings)
        if options.samples:
            measure_physics(name, model, options.out, samples=options.samples, sampler=SAMPLER)


if __name__ == "__main__":
    main()
