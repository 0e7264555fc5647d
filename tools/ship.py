"""Put trained models and measured results into the source tree, and write the tables anew.

    python tools/ship.py results regression1d results.json  # metrics go to cards
    python tools/ship.py results own-data out/*/own-data-measured.json  # several files into one
    python tools/ship.py model regression1d/se runs/se  # in place of the shipped one
    python tools/ship.py model regression1d/se runs/se --dtype float16  # in half the size

For maintainers: users never write into the package. Commit what changed.
"""

from __future__ import annotations

import argparse
import shutil
import sys

import tables

from geomndp import _model_files
from geomndp.experiments import registry, results
from geomndp.model import load


def ship_results(experiment: str, path: str) -> None:
    """Metrics to the cards of models, everything else to the experiment's results."""
    results.ship(path, registry.experiment(experiment).results, _model_files.folder())


def ship_model(name: str, run: str, dtype: str | None = None) -> None:
    """Weights and metadata of a training; the old card goes, and its metrics with it.

    Args:
        name: Name of the shipped model.
        run: Folder of the training.
        dtype: "float16" stores the parameters in half the size; None as they are.
    """
    registry.find(name)
    source, target = _model_files.find(run), _model_files.folder() / name
    metadata = _model_files.document(source)["metadata"]
    target.parent.mkdir(exist_ok=True)  # the first model of an experiment
    _model_files.sibling(target, ".json").unlink(missing_ok=True)
    if dtype is None:
        shutil.copyfile(_model_files.weights(source), _model_files.sibling(target, ".safetensors"))
    else:
        load(source).save(target, metadata, dtype)
    _model_files.write_metadata(target, {**metadata, "metrics": {}})


def main() -> int:
    """Ship, then write the tables of README and docs."""
    parser = argparse.ArgumentParser(description="Ship models or results.")
    parser.add_argument("what", choices=("results", "model"))
    parser.add_argument("name", help="experiment of the results, or name of the shipped model")
    parser.add_argument("path", nargs="+", help="files of results, or folder of a training")
    parser.add_argument("--dtype", choices=("float16", "bfloat16"), help="of a model's parameters")
    options = parser.parse_args()
    for path in options.path:
        if options.what == "results":
            ship_results(options.name, path)
        else:
            ship_model(options.name, path, options.dtype)
    sys.argv = sys.argv[:1]
    return tables.main()


if __name__ == "__main__":
    sys.exit(main())
