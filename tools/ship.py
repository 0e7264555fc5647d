"""Put trained models and measured results into the source tree, and write the tables anew.

    python tools/ship.py results regression1d results.json  # metrics go to cards
    python tools/ship.py results own-data out/*/own-data-measured.json  # several files into one
    python tools/ship.py model regression1d/se runs/se  # in place of the shipped one

For maintainers: users never write into the package. Commit what changed.
"""

from __future__ import annotations

import argparse
import shutil
import sys

import tables

from geomndp import _model_files
from geomndp.experiments import registry, results


def ship_results(experiment: str, path: str) -> None:
    """Metrics to the cards of models, everything else to the experiment's results."""
    results.ship(path, registry.experiment(experiment).results, _model_files.folder())


def ship_model(name: str, run: str) -> None:
    """Weights and metadata of a training; the old card goes, and its metrics with it."""
    registry.find(name)
    source, target = _model_files.find(run), _model_files.folder() / name
    metadata = _model_files.document(source)["metadata"]
    target.parent.mkdir(exist_ok=True)  # the first model of an experiment
    shutil.copyfile(_model_files.weights(source), _model_files.sibling(target, ".safetensors"))
    _model_files.sibling(target, ".json").unlink(missing_ok=True)
    _model_files.write_metadata(target, {**metadata, "metrics": {}})


def main() -> int:
    """Ship, then write the tables of README and docs."""
    parser = argparse.ArgumentParser(description="Ship models or results.")
    parser.add_argument("what", choices=("results", "model"))
    parser.add_argument("name", help="experiment of the results, or name of the shipped model")
    parser.add_argument("path", nargs="+", help="files of results, or folder of a training")
    options = parser.parse_args()
    for path in options.path:
        {"results": ship_results, "model": ship_model}[options.what](options.name, path)
    sys.argv = sys.argv[:1]
    return tables.main()


if __name__ == "__main__":
    sys.exit(main())
