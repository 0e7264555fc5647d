"""Seams of divergence-free fields that are drawn by patches, against the exact process.

    python benchmarks/seams.py --size 60 --samples 256 --figure seams.png
    python benchmarks/seams.py --size 96 --samples 0
    python benchmarks/seams.py --model vector-fields/div-free --two --size 300 --samples 2048 \
        --batch 128 --seconds 90 --out seams.json --arrays seams.npz
    python benchmarks/seams.py --model vector-fields/div-free --size 162 --samples 16 --batch 8 \
        --seconds 90 --out spectra.json --arrays spectra.npz
    python benchmarks/seams.py --figure seams.png --draw seams.npz spectra.npz

compares samples with the exact law: means, variances, and covariances of pairs of points across
seams beside those of pairs in one patch, each as the root mean square of its z-scores (1 is
perfect; what a network does not know shows with enough samples, at seams and elsewhere), of its
errors over the exact standard deviation or variance, and of their systematic part, which is what
the noise of the samples does not explain; and the ratio of the mean periodogram to its exact
expectation by wavelength. The exact process is drawn by the same patches beside a network: what is
left there is the scheme's. Without --model it is alone. `--two` draws two adjoining patches of such
a field. The divergence of the scheme in closed form is given for up to 70 x 70 points, and with
`--samples 0`, which draws nothing, for up to 122 x 122 (96 x 96: 2 minutes, 9 GB). `--seconds`
ends it when so many have passed, after whole batches.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import _threads  # noqa: F401
import jax
import jax.random as jr
import numpy as np
from _seam_errors import ExactField, pair_errors, point_errors, spectrum_ratio

import geomndp as gn
from geomndp.model.patch_scheme import chosen_patches
from geomndp.model.patchwise import field_on
from geomndp.patches import Layout, MemoryValues, Patches, grid, plan, run, scheme_kl
from geomndp.patches.kl import MAX_VALUES
from geomndp.samplers import Amortised

EXACT = ExactField(gn.kernels.DivergenceFree(5**0.5), 0.02, 20 / 29)


def exact_process() -> gn.ProcessModel:
    """The process of the training data."""
    return gn.ProcessModel(gn.gp.GP(EXACT.kernel, noise=EXACT.noise))


def corners(shape: tuple[int, int]) -> np.ndarray:
    """Lowest and highest inputs of a grid, shape (2, 2)."""
    return EXACT.spacing * np.asarray([(0, 0), (shape[0] - 1, shape[1] - 1)], np.float64)


def plan_field(shape: tuple[int, int], scheme: Patches) -> Layout:
    """Patches of a grid."""
    return plan(grid(tuple(EXACT.spacing * np.arange(n) for n in shape)), scheme)


def chosen_layout(model: Any, options: argparse.Namespace) -> Layout:
    """The field that was asked for: a square, or two patches that adjoin."""
    square = (options.size, options.size)
    scheme = chosen_patches(model.condition(), corners(square), 2, options.patches)
    layout = plan_field(square, scheme)
    if not options.two:
        return layout
    first, second = layout.levels[-1].chunks
    return plan_field((2 * first, second), scheme)


def draw(model: Any, layout: Layout, options: argparse.Namespace, **sampler: Any) -> np.ndarray:
    """Samples (s, n, m, p), in batches until all are there or the time is over."""
    shape = layout.levels[-1].locations.shape
    start, drawn, count = time.monotonic(), [], 0
    while count < options.samples and (not drawn or time.monotonic() - start < options.seconds):
        size = min(options.batch, options.samples - count)
        key = jr.fold_in(jr.key(options.seed), len(drawn))
        located = (corners(shape), layout)
        field = field_on(model.condition(), located, key, size, MemoryValues(), **sampler)
        run(field, progress=True)
        assert isinstance(field.values, MemoryValues)
        y = field.values.field(layout).reshape(size, *shape, -1)
        drawn.append(y.astype(np.float32))
        count += size
        print(f"{count} samples, {time.monotonic() - start:.0f} s", flush=True)
    return np.concatenate(drawn)


def compare(y: np.ndarray, layout: Layout) -> dict[str, Any]:
    """All that is measured of samples."""
    y = y.astype(np.float64)
    errors = point_errors(y, EXACT) | pair_errors(y, EXACT, layout.levels[-1].chunks)
    found: dict[str, Any] = {name: part.summary() for name, part in errors.items()}
    if y.shape[1] == y.shape[2]:
        found["spectrum"] = spectrum_ratio(y, EXACT)
    return {"samples": len(y), **found}


def measure(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Results, and arrays that a figure is drawn from."""
    exact = exact_process()
    model = exact if options.model is None else gn.load(options.model)
    layout = chosen_layout(model, options)
    level, results, arrays = layout.levels[-1], {}, {}
    results |= {"device": jax.devices()[0].device_kind, "points": level.locations.shape}
    results |= {"patch": level.chunks, "patches": len(layout.patches)}
    results["scheme"] = layout.scheme.description
    laws: dict[str, tuple[Any, dict]] = {"exact process": (exact, {})}
    if options.model is not None:
        sampler = {} if options.steps is None else {"sampler": Amortised(options.steps)}
        laws = {options.model: (model, sampler), **laws}
        results["sampler"] = str(sampler.get("sampler", model.condition().default_sampler()))
    for name, (law, sampler) in laws.items() if options.samples else ():
        y = draw(law, layout, options, **sampler)
        options.samples = len(y)  # as many of the exact process
        results[name] = compare(y, layout)
        variance = point_errors(y.astype(np.float64), EXACT)["variances"]
        arrays |= {f"{name} sample": y[0], f"{name} variance": variance.values}
    most = MAX_VALUES if not options.samples else MAX_VALUES // 3
    if 2 * level.locations.size <= most:
        kl = scheme_kl(EXACT.kernel, layout, EXACT.noise)
        results["scheme_nats_per_point"] = round(kl.per_point, 6)
    return results, arrays


def save_figure(path: Path, groups: list[dict[str, np.ndarray]]) -> None:
    """One sample and the errors of the variance of every law, a row per group of arrays."""
    import matplotlib.pyplot as plt

    columns = max(map(len, groups))
    size = (3.6 * columns, 3.2 * len(groups))
    figure, axes = plt.subplots(
        len(groups), columns, figsize=size, squeeze=False, layout="constrained"
    )
    for ax in axes.ravel():
        ax.axis("off")
    for row, arrays in zip(axes, groups, strict=True):
        limit = 3 * float(np.std([v for k, v in arrays.items() if k.endswith("variance")]))
        for ax, (name, values) in zip(row, arrays.items(), strict=False):
            bound = limit if name.endswith("variance") else 3.0
            options = {"origin": "lower", "cmap": "RdBu", "vmin": -bound, "vmax": bound}
            image = ax.imshow(values[..., 0].T, **options)
            title = f"{name} of u" if bound == 3.0 else f"{name} of u, relative error"
            ax.set_title(title, fontsize=8)
            figure.colorbar(image, ax=ax, shrink=0.8)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Draw, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None)
    parser.add_argument("--size", type=int, default=60, help="points along a side")
    parser.add_argument("--two", action="store_true", help="two adjoining patches of it alone")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--batch", type=int, default=256, help="samples at a time")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of every law, about")
    parser.add_argument("--steps", type=int, help="by default those of the default sampler")
    parser.add_argument("--patches", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--arrays", type=Path, help="NumPy file of what the figure shows")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--draw", type=Path, nargs="+", help="files of --arrays: draw these alone")
    options = parser.parse_args()
    if options.draw:
        return save_figure(options.figure, [dict(np.load(path)) for path in options.draw])
    results, arrays = measure(options)
    text = json.dumps(results, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.arrays is not None:
        np.savez_compressed(options.arrays, **arrays)
    if options.figure is not None:
        save_figure(options.figure, [arrays])
    return None


if __name__ == "__main__":
    main()
