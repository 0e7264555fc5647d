"""Counts the files of the package whose functions run on three walks through it.

    python tools/walks.py [--list] [--source DIR]

The walks: observations in a CSV file to a NetCDF file by the command line; one training step; the
conditional likelihood of a cyclone track. `--source` names the `src` folder of another checkout.
Everything is imported beforehand, so that only what runs is counted, not what is imported. The
wrapper of old arguments (`_deprecated.py`), which any renamed call passes, does not count.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import pkgutil
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


def prepare_csv_to_netcdf() -> Callable[[], Any]:
    """`geomndp condition` of a shipped model of vector fields."""
    from geomndp.cli.main import main

    folder = Path(tempfile.mkdtemp())
    observations, out = folder / "stations.csv", folder / "field.nc"
    observations.write_text("x,y,u,v\n0,0,1,0\n1,2,0,1\n-3,1,0.5,0.5\n")
    with contextlib.redirect_stdout(io.StringIO()) as usage, contextlib.suppress(SystemExit):
        main(["condition", "--help"])
    flag = "--targets" if "--targets" in usage.getvalue() else "--at"
    line = ["condition", "vector-fields/div-free", str(observations)]
    line += [flag, "x=-4:4:3pts", "y=-4:4:3pts", "--num-samples", "4", "--steps", "2"]
    line += ["--summary", "--out", str(out)]

    def walk():
        assert main(line) == 0
        shutil.rmtree(folder)

    return walk


def prepare_training() -> Callable[[], Any]:
    """One step of a small network on fresh functions of a Gaussian process."""
    import jax

    import geomndp as gn

    generators = importlib.import_module("geomndp.data")
    net = gn.nets.RelativeAttention(1, 1, key=jax.random.key(0), dtype="float32")
    problem = generators.regression1d("paper", "se")
    make = getattr(problem, "generator", None) or problem.stream
    schedule = gn.noising.LinearSchedule(1e-4, 10.0)
    noising = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(1.0), schedule)
    model = gn.Model(noising, gn.score.NetworkScore(net))
    data = make(4)
    return lambda: gn.fit(model, data, steps=1, key=0, quiet=True)


def track_likelihood() -> None:
    """Log-density of 6 fixes of a track given 4 earlier ones, under a shipped model."""
    import numpy as np

    import geomndp as gn

    days = np.arange(10.0)[:, None] / 8
    angles = np.deg2rad(np.stack([15 + 2 * days[:, 0], 140 - 4 * days[:, 0]], axis=1))
    latitude, longitude = angles.T
    flat = np.cos(latitude)
    points = [flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)]
    positions = np.stack(points, axis=1).astype("float32")
    model = gn.load("cyclones/ibtracs")
    posterior = model.condition(days[:4].astype("float32"), positions[:4])
    posterior.log_prob(days[4:].astype("float32"), positions[4:])


def files_entered(walk: Callable[[], Any], package: Path) -> list[str]:
    """Files of the package in which a function ran, as paths below the package."""
    entered: set[str] = set()
    function = 0x1 | 0x2  # CO_OPTIMIZED | CO_NEWLOCALS: no module and no class body

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_flags & function == function:
            entered.add(frame.f_code.co_filename)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    paths = (Path(file) for file in entered if file.startswith(f"{package}{os.sep}"))
    return sorted(str(path.relative_to(package)) for path in paths if path.stem != "_deprecated")


def main() -> None:
    """Print the counts, and the files with `--list`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the files too")
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src")
    options = parser.parse_args()
    source = options.source.resolve()
    sys.path.insert(0, str(source))
    os.environ["GEOMNDP_COMPILATION_CACHE"] = "off"
    import geomndp

    package = source / "geomndp"
    assert Path(geomndp.__file__).parent == package, f"expected {package}, got {geomndp.__file__}"
    for module in pkgutil.walk_packages([str(package)], "geomndp."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in dir(geomndp):
        getattr(geomndp, name)
    walks = {
        "CSV to NetCDF": prepare_csv_to_netcdf(),
        "one training step": prepare_training(),
        "conditional likelihood of a track": track_likelihood,
    }
    for name, walk in walks.items():
        files = files_entered(walk, package)
        print(f"{name}: {len(files)} files")
        if options.list:
            print("".join(f"    {file}\n" for file in files))


if __name__ == "__main__":
    main()
