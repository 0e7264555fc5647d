"""Cost and memory of one evaluation of a shipped graph network against the number of points.

    python benchmarks/points.py --sides 32 65 100 178 316 --json cpu.json
    python benchmarks/points.py --sides 32 100 316 562 1000 --json gpu.json
    python benchmarks/points.py --combine cpu.json gpu.json --figure points.png

A square lattice with the spacing of training. "pairs" is the pooling that compares all pairs of
points (up to the side `--pairs`), "series" and "cells" are Fourier series and cells of linear cost,
of which one is chosen for more than 768 points, "difference" the largest of outputs from those of
all pairs. "scratch" is what XLA says the compiled program needs besides its inputs; "peak" the most
that a device other than a CPU has had in use so far. The last lines have exponents of the points
for every device, fitted to the rows of "cells". `--combine` measures nothing: it shows the rows of
several devices in one figure.
"""

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _table import markdown

from geomndp.model import load
from geomndp.nets import graph_nets, with_capacity, with_config
from geomndp.nets.steerable_2d.fourier_sums import FourierLayout

SPACING = 20 / 29


def lattice(side: int) -> np.ndarray:
    """Locations of the points, around the origin."""
    axis = SPACING * (np.arange(side) - (side - 1) / 2)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)


class Form(NamedTuple):
    """One form of the pooling for the points of one side."""

    name: str
    net: Any
    x: np.ndarray


def forms(model, side: int, pairs: bool) -> list[Form]:
    """That of linear cost, where there is one, then all pairs."""
    x = lattice(side)
    (net,) = graph_nets(with_capacity(model, x))
    name = "series" if net.layouts and isinstance(net.layouts[0], FourierLayout) else "cells"
    found = [Form(name, net, x)] if net.layouts else []
    return found + [Form("pairs", with_config(net), x)] * (pairs or not net.layouts)


def compiled(form: Form) -> tuple[Any, tuple]:
    """The program of one evaluation, and its arguments."""
    arrays, static = eqx.partition(form.net, eqx.is_array)
    count, dtype = len(form.x), form.x.dtype
    values = jr.normal(jr.key(0), (count, 2), dtype)
    args = arrays, jnp.full(count, 0.3, dtype), form.x, values
    call = jax.jit(lambda arrays, *function: eqx.combine(arrays, static)(*function))
    return call.lower(*args).compile(), args


def evaluate(program: Any, args: tuple) -> tuple[np.ndarray, float, float]:
    """Output, seconds (on a CPU of processor time) of a second call, MiB of scratch memory."""
    args = jax.device_put(args)
    output = np.asarray(program(*args))
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    start = clock()
    program(*args).block_until_ready()
    seconds = clock() - start
    memory = program.memory_analysis()
    return output, seconds, 0.0 if memory is None else memory.temp_size_in_bytes / 2**20


def device_peak() -> float | None:
    """MiB that the device has had in use at most; None where it does not say."""
    peak = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    return None if peak is None else peak / 2**20


def measure(programs: list[tuple[Form, Any, tuple]]) -> list[dict]:
    """One row per form of the pooling, of one side."""
    rows, outputs = [], []
    for form, program, args in programs:
        output, seconds, scratch = evaluate(program, args)
        assert np.isfinite(output).all()
        row = {"points": len(form.x), "pooling": form.name, "seconds": seconds, "scratch": scratch}
        row["device"] = jax.devices()[0].device_kind
        peak = device_peak()
        rows.append(row if peak is None else {**row, "peak": peak})
        outputs.append(output)
    if len(outputs) == 2:
        rows[0]["difference"] = float(np.max(np.abs(outputs[0] - outputs[1])))
        rows[0]["largest"] = float(np.max(np.abs(outputs[1])))
    return rows


def exponent(rows: list[dict], name: str) -> float:
    """Slope of the logarithm of a cost over that of the points."""
    points, costs = (np.log([row[key] for row in rows]) for key in ("points", name))
    return float(np.polyfit(points, costs, 1)[0])


def by_device(rows: list[dict]) -> dict[str, list[dict]]:
    """Rows of every device, in the order of their points."""
    names = dict.fromkeys(row["device"] for row in rows)
    ordered = sorted(rows, key=lambda row: row["points"])
    return {name: [row for row in ordered if row["device"] == name] for name in names}


def in_linear_cost(rows: list[dict]) -> list[dict]:
    """Rows that exponents are fitted to."""
    return [row for row in rows if row["pooling"] == "cells"]


def draw(rows: list[dict], path: str) -> None:
    """Figure of seconds and memory against points, one colour per device."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    labels = {"seconds": "seconds", "scratch": "scratch memory (MiB)"}
    for axis, (name, label) in zip(axes, labels.items(), strict=True):
        for i, (device, own) in enumerate(by_device(rows).items()):
            many = in_linear_cost(own)
            fit = f", exponent {exponent(many, name):.2f}" if len(many) > 1 else ""
            for style, pooling, words in (
                ("s--", "pairs", "all pairs"),
                ("^:", "series", "Fourier series"),
                ("o-", "cells", f"cells{fit}"),
            ):
                part = [row for row in own if row["pooling"] == pooling]
                line = [r["points"] for r in part], [r[name] for r in part]
                axis.loglog(*line, style, color=f"C{i}", label=f"{device}, {words}")
        axis.set(xlabel="points", ylabel=label)
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=120)


def show(rows: list[dict]) -> None:
    """Print all rows, and the exponents of every device."""
    names = ("seconds", "scratch", "peak", "difference", "largest")
    header = ["points", "pooling", "seconds", "scratch (MiB)", "peak (MiB)", "difference"]
    cells = [
        [str(row["points"]), row["pooling"], *(row.get(name, "") for name in names)] for row in rows
    ]
    print(markdown([*header, "largest output"], cells))
    for device, own in by_device(rows).items():
        if len(many := in_linear_cost(own)) > 1:
            powers = (f"{exponent(many, name):.2f}" for name in ("seconds", "scratch"))
            print("exponents: {} of time, {} of memory ({})".format(*powers, device))


def measured(options: argparse.Namespace) -> list[dict]:
    """Rows of all sides, on this device; written after each, so that a stop loses none."""
    model, rows, sides = load(options.model), [], sorted(options.sides)
    with ThreadPoolExecutor(options.compile_at_once) as pool:
        planned = [forms(model, side, side <= options.pairs) for side in sides]
        futures = [[pool.submit(compiled, form) for form in own] for own in planned]
        ready = [[future.result() for future in own] for own in futures]
    for own, programs in zip(planned, ready, strict=True):
        rows += measure([(form, *pair) for form, pair in zip(own, programs, strict=True)])
        print(rows[-1], flush=True)
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vector-fields/div-free")
    parser.add_argument("--sides", type=int, nargs="+", default=[32, 65, 100, 178, 316])
    parser.add_argument("--pairs", type=int, default=100, help="largest side of all pairs")
    parser.add_argument("--compile-at-once", type=int, default=1, help="programs, in threads")
    parser.add_argument("--figure", help="file of the figure")
    parser.add_argument("--json", help="file of the rows")
    parser.add_argument("--combine", type=Path, nargs="+", help="files of rows: measure nothing")
    parser.add_argument("--quick", action="store_true", help="sides of 8 and 66 points")
    options = parser.parse_args()
    if options.quick:
        options.sides, options.pairs = [8, 66], 8
    if options.combine:
        rows = [row for path in options.combine for row in json.loads(path.read_text())]
    else:
        rows = measured(options)
    if options.figure:
        draw(rows, options.figure)
    show(rows)


if __name__ == "__main__":
    main()
