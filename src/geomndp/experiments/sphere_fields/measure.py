"""What is measured of trained models of fields on the sphere, into one file of results.

python -m geomndp.experiments.sphere_fields.measure runs/sphere/div-free --out results.json

Folders are those that `geomndp train` wrote. Likelihoods and regrets at all kinds of points, by
`geomndp evaluate` too, go to `results.json` in the run's folder; divergence and curl of samples to
the file of results. A part that stands in a file is not measured again.
"""

from __future__ import annotations

import argparse
from os import PathLike
from pathlib import Path

import jax.random as jr

from geomndp import _model_files, _validation
from geomndp.evaluate.sphere_physics import sphere_physics
from geomndp.experiments import results
from geomndp.experiments.sphere_fields.evaluate import evaluate_region
from geomndp.experiments.sphere_fields.experiment import MODELS, REGIONS
from geomndp.experiments.sphere_fields.training import problem_for
from geomndp.experiments.vector_fields.physics import SAMPLER, drawn
from geomndp.model import Model, load


def evaluate_run(
    name: str, model: Model, run: str | PathLike, *, num: int = 512, regions=REGIONS, **options
) -> None:
    """Log-likelihoods and regrets on `num` fields of every region, for the model of a run."""
    path = Path(run) / "results.json"
    for region in regions:
        keys = ("scores", name, region, "conditional")
        if results.lookup(results.read(path), *keys) is None:
            kept = Path(run) / "blocks" / region
            metrics = evaluate_region(
                model, problem_for(name), region, num=num, directory=kept, **options
            )
            results.update(path, keys, metrics)


def measure_physics(
    name: str, model: Model, path: str | PathLike, *, samples: int = 512, sampler=SAMPLER
) -> None:
    """Divergence and curl of `samples` prior samples of a model of tangent fields."""
    problem = problem_for(name)
    if problem.gp.dim != 2 or results.lookup(results.read(path), "physics", name) is not None:
        return
    fields = drawn(model, problem.grid, num=samples, key=jr.key(0), sampler=sampler)
    metrics = sphere_physics(problem, fields, lengthscale=MODELS[name].lengthscale)
    results.update(path, ("physics", name), metrics)


def main() -> None:
    """Measure every run."""
    parser = argparse.ArgumentParser(description="Measure models of fields on the sphere.")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--num", type=int, default=512, help="test fields of every region")
    parser.add_argument(
        "--samples", type=int, default=512, help="samples of the physical check, 0 for none"
    )
    parser.add_argument("--regions", nargs="+", choices=REGIONS, default=REGIONS)
    parser.add_argument("--probes", type=int, default=8, help="random probes of the divergence")
    parser.add_argument("--batch-size", type=int, default=32, help="fields side by side")
    options = parser.parse_args()
    _validation.at_least(2, probes=options.probes)  # of one probe the error is not known
    for run in options.runs:
        path = Path(run) / "model"
        name, model = _model_files.metadata(path)["experiment"], load(path)
        settings = {"probes": options.probes, "batch_size": options.batch_size}
        evaluate_run(name, model, run, num=options.num, regions=options.regions, **settings)
        if options.samples:
            measure_physics(name, model, options.out, samples=options.samples, sampler=SAMPLER)


if __name__ == "__main__":
    main()
