"""A large sample of a divergence-free field given stations, patch by patch into a Zarr store.

    python benchmarks/large_fields.py --size 1000 --steps 8 --out field.zarr --kill-after 500

draws 1,000 x 1,000 points at the spacing of the training (20/29) given 500 stations, 400 of them in
the square from 20% to 30% of both axes; kills itself once after 500 patches, resumes, and prints
seconds, patches, and the largest resident memory. `--steps 50` is the default sampler.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPACING = 20 / 29
LENGTHSCALE, NOISE = 5**0.5, 0.02
STATIONS, CLUSTERED = 500, 400
REGION = (0.2, 0.3)
SEED = 0


def stations(size: int, count: int):
    """Locations and values of stations, drawn from the exact process of the training data."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import geomndp as gn

    random, width = np.random.default_rng(SEED), SPACING * (size - 1)
    clustered = count * CLUSTERED // STATIONS
    near = width * random.uniform(*REGION, (clustered, 2))
    x = np.concatenate([near, width * random.uniform(0, 1, (count - clustered, 2))])
    with jax.enable_x64(True):
        gp = gn.gp.GP(gn.kernels.DivergenceFree(LENGTHSCALE), noise=NOISE)
        y = np.asarray(gp.sample(jnp.asarray(x), key=jax.random.key(SEED)))
    return x.astype(np.float32), y.astype(np.float32)


def draw(options: argparse.Namespace) -> dict:
    """Draw, or resume, the field in this process."""
    import jax
    import numpy as np
    import xarray as xr

    import geomndp as gn
    from geomndp.model.patch_store import begin_field, finish_field
    from geomndp.samplers import Amortised

    model = gn.load(options.model)
    names = model.variables.input_names
    axis = (SPACING * np.arange(options.size)).astype(np.float32)
    grid = xr.Dataset(coords={name: (name, axis) for name in names})
    posterior = model.condition(*stations(options.size, options.stations))
    sampler = Amortised(options.steps)
    start = time.monotonic()
    request = (options.out, jax.random.key(SEED), 1, options.patches)
    field = begin_field(posterior, grid, *request, sampler=sampler)
    total = len(field.layout.patches)
    before = sum(field.values.done(patch) for patch in field.layout.patches)
    planned = time.monotonic() - start

    def report(done: float) -> None:
        seconds = time.monotonic() - start
        rate = (done - before) / max(seconds, 1e-9)
        left = (total - done) / rate if rate else float("inf")
        print(f"{int(done)} of {total}, {seconds:.0f} s, about {left:.0f} s left", file=sys.stderr)

    result = finish_field(field, options.out, report if options.progress else False)
    seconds = time.monotonic() - start
    finite = all(bool(np.isfinite(result[name][:, :64, :64]).all()) for name in result)
    return {
        "size": options.size,
        "patches": total,
        "drawn": total - before,
        "chunks": list(field.layout.levels[-1].chunks),
        "scheme": field.layout.scheme.description,
        "planning_seconds": round(planned, 1),
        "seconds": round(seconds, 1),
        "seconds_per_patch": round((seconds - planned) / max(total - before, 1), 3),
        "max_resident_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "finite": finite,
    }


def kill_and_resume(options: argparse.Namespace, arguments: list[str]) -> None:
    """Run this script, kill it after so many patches, and run it again."""
    marks = Path(options.out) / "patches" / "done" / "c"
    command = [sys.executable, __file__, *arguments]
    process = subprocess.Popen(command)
    while process.poll() is None and len(list(marks.glob("*"))) < options.kill_after:
        time.sleep(1)
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.wait()
        print(f"killed after {len(list(marks.glob('*')))} patches; resuming", file=sys.stderr)
        subprocess.run(command, check=True)


def main() -> None:
    """Read the options and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vector-fields/div-free")
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--stations", type=int, default=STATIONS)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--patches", default="auto")
    parser.add_argument("--out", default=None)
    parser.add_argument("--kill-after", type=int, default=0)
    parser.add_argument("--progress", action="store_true")
    options = parser.parse_args()
    if options.out is None:
        options.out = f"{tempfile.mkdtemp()}/field.zarr"
    if options.kill_after:
        passed = ["--model", options.model, "--size", str(options.size), "--patches"]
        passed += [options.patches, "--out", options.out, "--stations", str(options.stations)]
        passed += ["--steps", str(options.steps)]
        kill_and_resume(options, passed + ["--progress"] * options.progress)
        return
    print(json.dumps(draw(options)))


if __name__ == "__main__":
    main()
