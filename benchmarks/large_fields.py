"""A large sample of a divergence-free field given stations, patch by patch into a Zarr store.

    python benchmarks/large_fields.py --size 1000 --out field.zarr --kill-after 500
    python benchmarks/large_fields.py --size 300 --sampler adams:steps=8 --out unbroken.zarr
    python benchmarks/large_fields.py --size 300 --sampler adams:steps=8 --out killed.zarr \
        --kill-after 20 45 70 --against unbroken.zarr
    python benchmarks/large_fields.py --size 1000 --memory --progress --out field.npy

draws 1,000 x 1,000 points at the spacing of the training (20/29) given 500 stations, 400 of them in
the square from 20% to 30% of both axes; kills itself once after 500 patches, resumes, and prints
seconds, patches, and the largest memory of the process and of the device. Without `--sampler` it is
the default one; `--sampler adams:steps=10,floor=0.01` takes 10 evaluations, for data whose noise
has a variance of 0.02 (docs/choosing_a_sampler.md). Several numbers after `--kill-after` kill it as
often, and `--against` says whether the values of another store are the same bit for bit, and how
much they differ. `--memory` needs neither Zarr nor xarray: the field is held in memory, and written
at the end if `--out` names a file of NumPy. `--quick` draws 40 x 40 points in two steps.
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


def begin(options: argparse.Namespace, posterior):
    """The field, in a store or in memory, of which some patches may be done."""
    import jax
    import numpy as np

    from geomndp.model.patch_store import begin_field

    axis = (SPACING * np.arange(options.size)).astype(np.float32)
    key = jax.random.key(SEED)
    sampler = chosen_sampler(options)
    if options.memory:
        return field_in_memory(posterior, axis, options.patches, key, sampler)
    import xarray as xr

    names = posterior.variables.input_names
    grid = xr.Dataset(coords={name: (name, axis) for name in names})
    request = (options.out, key, 1, options.patches)
    return begin_field(posterior, grid, *request, sampler=sampler)


def chosen_sampler(options: argparse.Namespace):
    """The sampler that was asked for, None for the default one."""
    from geomndp.samplers import from_text

    return None if options.sampler is None else from_text(options.sampler)


def field_in_memory(posterior, axis, patches: str, key, sampler):
    """A field on a square grid, from arrays alone."""
    import numpy as np

    from geomndp.model.patch_scheme import chosen_patches
    from geomndp.model.patchwise import field_on
    from geomndp.patches import MemoryValues, grid, plan

    corners = np.tile(np.asarray([[axis[0]], [axis[-1]]], np.float64), (1, 2))
    layout = plan(grid((axis, axis)), chosen_patches(posterior, corners, 2, patches))
    return field_on(posterior, (corners, layout), key, 1, MemoryValues(), sampler=sampler)


def finish(options: argparse.Namespace, field, report) -> list:
    """Draw what is left; parts (s, n, n) of the result, one per output."""
    import numpy as np

    from geomndp.model.patch_store import finish_field
    from geomndp.patches import run

    if not options.memory:
        result = finish_field(field, options.out, report, options.scheduler)
        return [result[name] for name in result]
    run(field, report)
    values = field.values.field(field.layout).reshape(1, options.size, options.size, -1)
    if options.out:
        np.save(options.out, values)
    return [*np.moveaxis(values, -1, 0)]


def draw(options: argparse.Namespace) -> dict:
    """Draw, or resume, the field in this process."""
    import jax
    import numpy as np

    import geomndp as gn

    posterior = gn.load(options.model).condition(*stations(options.size, options.stations))
    start, marks = time.monotonic(), []
    field = begin(options, posterior)
    total = len(field.layout.patches)
    before = sum(field.values.done(patch) for patch in field.layout.patches)
    planned = time.monotonic() - start

    def report(done: float) -> None:
        seconds = time.monotonic() - start
        marks.append((int(done), round(seconds, 1)))
        rate = (done - before) / max(seconds, 1e-9)
        left = (total - done) / rate if rate else float("inf")
        if options.progress:
            print(
                f"{int(done)} of {total}, {seconds:.0f} s, about {left:.0f} s left", file=sys.stderr
            )

    parts = finish(options, field, report)
    seconds = time.monotonic() - start
    device = jax.local_devices()[0]
    device_peak = (device.memory_stats() or {}).get("peak_bytes_in_use", 0)
    return {
        "device": device.device_kind,
        "size": options.size,
        "sampler": str(chosen_sampler(options) or posterior.default_sampler()),
        "patches": total,
        "drawn": total - before,
        "chunks": list(field.layout.levels[-1].chunks),
        "scheme": field.layout.scheme.description,
        "planning_seconds": round(planned, 1),
        "seconds": round(seconds, 1),
        "seconds_per_patch": round((seconds - planned) / max(total - before, 1), 4),
        "patches_by_seconds": marks[:: max(1, len(marks) // 20)],
        "max_resident_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "max_device_gib": round(device_peak / 2**30, 2),
        "finite": all(bool(np.isfinite(part[:, :64, :64]).all()) for part in parts),
    }


def kill_and_resume(options: argparse.Namespace, arguments: list[str]) -> None:
    """Run this script, kill it whenever so many patches are done, and let it end at last."""
    marks = Path(options.out) / "patches" / "done" / "c"
    command = [sys.executable, __file__, *arguments]
    for count in options.kill_after:
        process = subprocess.Popen(command)
        while process.poll() is None and len(list(marks.glob("*"))) < count:
            time.sleep(0.2)
        if process.poll() is not None:
            raise SystemExit(f"expected more than {count} patches to kill after, got all of them")
        process.send_signal(signal.SIGKILL)
        process.wait()
        print(f"killed after {len(list(marks.glob('*')))} patches; resuming", file=sys.stderr)
    subprocess.run(command, check=True)


def compared(store: str, other: str) -> dict:
    """Whether all variables of two stores hold the same bits, and their largest difference."""
    import numpy as np
    import xarray as xr

    stores = (xr.open_zarr(path, consolidated=False) for path in (store, other))
    with next(stores) as mine, next(stores) as theirs:
        names = set(mine.data_vars)
        pairs = [(mine[name].values, theirs[name].values) for name in names]
        same = names == set(theirs.data_vars) and all(a.tobytes() == b.tobytes() for a, b in pairs)
        difference = max(float(np.max(np.abs(a - b))) for a, b in pairs)
        return {"same bits": same, "largest difference": difference}


def main() -> None:
    """Read the options and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vector-fields/div-free")
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--stations", type=int, default=STATIONS)
    parser.add_argument("--sampler", help="such as amortised:steps=50")
    parser.add_argument("--patches", default="auto")
    parser.add_argument("--out", default=None)
    parser.add_argument("--kill-after", type=int, nargs="*", default=[], help="patches, ascending")
    parser.add_argument("--against", default=None, help="another store, to compare with at the end")
    parser.add_argument("--scheduler", help="address of a dask cluster whose workers draw")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--memory", action="store_true", help="no store, needs no Zarr")
    parser.add_argument("--quick", action="store_true", help="40 x 40 points, 20 stations, 2 steps")
    options = parser.parse_args()
    if options.quick:
        options.size, options.stations, options.sampler = 40, 20, "adams:steps=2"
    if options.memory:
        options.kill_after = []
    elif options.out is None:
        options.out = f"{tempfile.mkdtemp()}/field.zarr"
    if options.kill_after:
        passed = ["--model", options.model, "--size", str(options.size), "--patches"]
        passed += [options.patches, "--out", options.out, "--stations", str(options.stations)]
        for name in ("sampler", "scheduler"):
            value = getattr(options, name)
            passed += [] if value is None else [f"--{name}", value]
        passed += ["--progress"] * options.progress
        kill_and_resume(options, passed)
    else:
        print(json.dumps(draw(options)))
    if options.against:
        print(json.dumps(compared(options.out, options.against)))


if __name__ == "__main__":
    main()
