"""Train a vector-field model, then measure score gaps and the log-likelihood of test fields.

python -m geomndp.experiments.train_fields vector-fields/div-free --steps 40000 --out runs/df
python -m geomndp.experiments.train_fields vector-fields/div-free --functions 8000 --out runs/tenth

The same command goes on where a stopped run was. Writes log, checkpoints, `model` and
`results.json` to the folder. `--heads 8` adds attention over all points.
"""

import argparse
import json
from pathlib import Path

import jax
import jax.random as jr

from geomndp.experiments import results, vector_fields
from geomndp.experiments.regression1d import in_full_precision
from geomndp.experiments.score_fields import field_score_gaps, score
from geomndp.model import fit


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train and measure a vector-field model.")
    parser.add_argument("name", choices=vector_fields.names())
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=vector_fields.PAPER_STEPS)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--functions", type=int, default=None, help="size of a finite training set")
    parser.add_argument("--channels", type=int, default=None)
    parser.add_argument("--heads", type=int, default=None, help="of attention over all points")
    parser.add_argument("--dtype", default="bfloat16" if jax.default_backend() == "gpu" else None)
    parser.add_argument("--implementation", default=None, help='"cudnn" for NDP* on a GPU')
    parser.add_argument("--num", type=int, default=512, help="test fields")
    parser.add_argument("--probes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def trained(this: vector_fields.FieldExperiment, options: argparse.Namespace):
    """Train, save, and return the model in full precision."""
    init_key, train_key = jr.split(jr.key(options.seed))
    sizes = {"channels": options.channels, "num_heads": options.heads}
    model = vector_fields.make_model(
        this,
        key=init_key,
        compute_dtype=options.dtype,
        implementation=options.implementation,
        **{name: size for name, size in sizes.items() if size is not None},
    )
    model, history = fit(
        model,
        vector_fields.make_stream(this, options.batch, options.functions),
        steps=options.steps,
        key=train_key,
        loss=vector_fields.make_loss(),
        optimiser=vector_fields.make_optimiser(this, options.steps),
        directory=options.out,
    )
    model = in_full_precision(model)
    notes = {"experiment": this.name, "steps": options.steps, "seed": options.seed}
    notes |= {"functions": options.functions, "training_seconds": float(history.seconds[-1])}
    model.save(Path(options.out) / "model", notes | {"metrics": {}})
    return model


def main() -> None:
    """Train, then measure what is not yet in the file of results."""
    options = arguments()
    this, path = vector_fields.experiment(options.name), Path(options.out) / "results.json"
    model = trained(this, options)

    def part(place, function, **settings):
        if results.found(results.read(path), *place) is None:
            results.update(path, place, function(model, this, **settings))
        print(place, json.dumps(results.found(results.read(path), *place))[:400], flush=True)

    part(("gaps", this.name), field_score_gaps)
    for route in ("conditional", "joint"):
        settings = {"num": options.num, "probes": options.probes, "route": route}
        kept = Path(options.out) / "blocks" / route
        part(("scores", this.name, route), score, **settings, directory=kept)


if __name__ == "__main__":
    main()
