"""Seams and spectrum of large samples, against the exact process.

    python benchmarks/large_fields.py --size 1000 --out field.zarr
    python benchmarks/field_seams.py field.zarr --figure field.png --out results.json
    python benchmarks/spectra.py --size 186 --samples 8 --arrays samples.npy
    python benchmarks/field_seams.py samples.npy --patch 31 31 --figure difference.png

A sample given stations whose values are drawn from the process has the law of the process itself,
which is stationary: tiles of two by two adjoining patches are samples of one law, hundreds of them
in a large field. Means, variances and covariances across seams and within patches are those of
`seams.py`, over the tiles; the spectrum is that of the whole field. Tiles next to each other are
weakly correlated, so that z-scores are a little larger than those of independent samples. Variances
are given by the parity of patches along both axes too, which is the order of a checkerboard: of a
field that is not finished these alone, over the patches that are there.

The figure has a sample, its differences along one axis, in which a seam would be a line, the errors
of the variance by the position in a tile, and the mean squares of the differences by the position
across the seams, over their exact value.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _threads  # noqa: F401
import numpy as np
import xarray as xr
from _seam_errors import pair_errors, point_errors, spectrum_errors, spectrum_nats
from seams import EXACT

INPUTS, OUTPUTS = ("x", "y"), ("u", "v")
SHOWN = 3.0


def read_field(path: Path, patch: Sequence[int] = ()) -> tuple[np.ndarray, tuple[int, int]]:
    """Samples (s, n, m, 2) of a store or a NumPy file, and the points of a patch along both axes.

    Args:
        path: The file.
        patch: Points of a patch, which a NumPy file does not say.
    """
    if path.suffix == ".npy":
        rows, columns = patch
        return np.load(path).astype(np.float64), (rows, columns)
    with xr.open_zarr(path, consolidated=False) as data:  # whose variables have any order
        parts = [data[name].transpose("sample", *INPUTS) for name in OUTPUTS]
        points = dict(zip(data["u"].dims, data["u"].encoding["chunks"], strict=True))
        values = np.stack([part.values for part in parts], axis=-1)
        return values, (points[INPUTS[0]], points[INPUTS[1]])


def tiles(field: np.ndarray, chunks: tuple[int, int]) -> np.ndarray:
    """Squares of two by two whole patches of samples (s, n, m, p), shape (t, 2 a, 2 b, p)."""
    a, b = 2 * chunks[0], 2 * chunks[1]
    rows, columns = field.shape[1] // a, field.shape[2] // b
    whole = field[:, : rows * a, : columns * b].reshape(len(field), rows, a, columns, b, -1)
    return np.swapaxes(whole, 2, 3).reshape(-1, a, b, field.shape[-1])


def variances_by_parity(y: np.ndarray) -> dict[str, list[float]]:
    """Variance over the exact one, its standard error and the number of whole patches.

    Args:
        y: Tiles (s, 2 a, 2 b, p) of two by two patches, NaN where nothing is drawn.
    """
    ratios, found = np.square(y) / EXACT.covariance(np.zeros(2)), {}
    for i, rows in enumerate(np.split(ratios, 2, axis=1)):
        for j, patches in enumerate(np.split(rows, 2, axis=2)):
            means = patches.mean(axis=(1, 2, 3))
            means = means[np.isfinite(means)]
            if len(means) > 1:
                error = np.std(means, ddof=1) / np.sqrt(len(means))
                found[f"{i}, {j}"] = [round(float(means.mean()), 4), round(float(error), 4)]
                found[f"{i}, {j}"].append(len(means))
    return found


def compare(field: np.ndarray, chunks: tuple[int, int]) -> dict[str, Any]:
    """All that is measured of samples (s, n, m, 2)."""
    y = tiles(field.astype(np.float64), chunks)
    found: dict[str, Any] = {"points": field.shape[1:3], "patch": chunks, "tiles": len(y)}
    found["variances by parity"] = variances_by_parity(y)
    if not np.isfinite(field).all():
        return found
    errors = point_errors(y, EXACT) | pair_errors(y, EXACT, chunks)
    found |= {name: part.summary() for name, part in errors.items()}
    if field.shape[1] != field.shape[2]:
        return found
    ratios = spectrum_errors(field.astype(np.float64), EXACT)
    nats = spectrum_nats(ratios, field.shape[1], EXACT.spacing)
    return found | {"spectrum": ratios, "nats per point": round(nats, 6)}


def mean_squared_steps(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean squares of differences along the first axis of tiles, over their exact value.

    Args:
        y: Tiles (t, 2 a, 2 b, p).

    Returns:
        Ratios (2 a - 1, p), and their standard errors.
    """
    exact = 2 * (EXACT.covariance(np.zeros(2)) - EXACT.covariance(np.eye(2)[0]))
    each = np.mean(np.diff(y, axis=1) ** 2, axis=2) / exact
    return each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))


def save_figure(path: Path, field: np.ndarray, chunks: tuple[int, int]) -> None:
    """One sample, its differences, errors of variances over the tiles, and squared differences."""
    import matplotlib.pyplot as plt

    y, part = tiles(field.astype(np.float64), chunks), 6 * chunks[0]
    errors = point_errors(y, EXACT)["variances"].values
    sample = field[0, :part, :part].astype(np.float64)
    steps = np.diff(sample, axis=0)
    count = f"{len(y)} tiles of two by two patches"
    shown = [
        (f"u of one sample, {' x '.join(map(str, sample.shape[:2]))} points", sample, SHOWN),
        ("its differences along the first axis", steps, 3 * float(np.std(steps))),
        (f"variance of u, {count}: relative error", errors, 3 * float(np.std(errors))),
    ]
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained")
    for ax, (title, values, bound) in zip(axes, shown, strict=False):
        options = {"origin": "lower", "cmap": "RdBu", "vmin": -bound, "vmax": bound}
        image = ax.imshow(values[..., 0].T, interpolation="nearest", **options)
        ax.set_title(title, fontsize=8)
        ax.axis("off")
        figure.colorbar(image, ax=ax, shrink=0.8)
    draw_steps(axes[-1], y, chunks[0])
    figure.savefig(path, dpi=90)


def draw_steps(ax: Any, y: np.ndarray, size: int) -> None:
    """Mean squares of differences along the first axis of tiles (t, 2 a, 2 b, p)."""
    ratios, errors = mean_squared_steps(y)
    for i, name in enumerate(OUTPUTS):
        line = np.arange(len(ratios)) + 0.5
        ax.errorbar(line, ratios[:, i], errors[:, i], fmt=".-", lw=0.8, label=name)
    ax.axvline(size - 0.5, color="k", lw=0.8, ls=":", label="seam")
    ax.axhline(1, color="k", lw=0.8)
    ax.set_title("mean squared differences over the exact ones", fontsize=8)
    ax.set_xlabel("points from the side of a tile")
    ax.legend(fontsize=7)


def main() -> None:
    """Read, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("field", type=Path, help="store of `large_fields.py`, or NumPy file")
    parser.add_argument("--patch", type=int, nargs=2, help="points of a patch of a NumPy file")
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    field, chunks = read_field(options.field, options.patch)
    text = json.dumps(compare(field, chunks), indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.figure is not None:
        save_figure(options.figure, field, chunks)


if __name__ == "__main__":
    main()
