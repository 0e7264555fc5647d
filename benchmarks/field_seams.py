"""Seams and spectrum of one large stored sample, against the exact process.

    python benchmarks/large_fields.py --size 1000 --out field.zarr
    python benchmarks/field_seams.py field.zarr --figure field.png --out results.json

A sample given stations whose values are drawn from the process has the law of the process itself,
which is stationary: tiles of two by two adjoining patches are samples of one law, hundreds of them
in a large field. Means, variances and covariances across seams and within patches are those of
`seams.py`, over the tiles; the spectrum is that of the whole field. Tiles next to each other are
weakly correlated, so that z-scores are a little larger than those of independent samples. Variances
are given by the parity of patches along both axes too, which is the order of a checkerboard: of a
field that is not finished these alone, over the patches that are there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import _threads  # noqa: F401
import numpy as np
import xarray as xr
from _seam_errors import pair_errors, point_errors, spectrum_ratio
from seams import EXACT

INPUTS, OUTPUTS = ("x", "y"), ("u", "v")
SHOWN = 3.0


def read_field(path: Path) -> tuple[np.ndarray, tuple[int, int]]:
    """The first sample (n, m, 2) of a store, and the points of a patch along both axes."""
    with xr.open_zarr(path, consolidated=False) as data:  # whose variables have any order
        parts = [data[name].isel(sample=0).transpose(*INPUTS) for name in OUTPUTS]
        points = dict(zip(data["u"].dims, data["u"].encoding["chunks"], strict=True))
        values = np.stack([part.values for part in parts], axis=-1)
        return values, (points[INPUTS[0]], points[INPUTS[1]])


def tiles(field: np.ndarray, chunks: tuple[int, int]) -> np.ndarray:
    """Squares of two by two whole patches, shape (s, 2 a, 2 b, p)."""
    a, b = 2 * chunks[0], 2 * chunks[1]
    rows, columns = field.shape[0] // a, field.shape[1] // b
    whole = field[: rows * a, : columns * b].reshape(rows, a, columns, b, -1)
    return np.swapaxes(whole, 1, 2).reshape(rows * columns, a, b, -1)


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
    """All that is measured of a field."""
    y = tiles(field.astype(np.float64), chunks)
    found: dict[str, Any] = {"points": field.shape[:2], "patch": chunks, "tiles": len(y)}
    found["variances by parity"] = variances_by_parity(y)
    if not np.isfinite(field).all():
        return found
    errors = point_errors(y, EXACT) | pair_errors(y, EXACT, chunks)
    found |= {name: part.summary() for name, part in errors.items()}
    return found | {"spectrum": spectrum_ratio(field[None].astype(np.float64), EXACT)}


def save_figure(path: Path, field: np.ndarray, chunks: tuple[int, int]) -> None:
    """The field, a part of it, and the errors of variances over the tiles."""
    import matplotlib.pyplot as plt

    errors = point_errors(tiles(field.astype(np.float64), chunks), EXACT)["variances"].values
    limit, part = 3 * float(np.std(errors)), 4 * chunks[0]
    shown = [
        (f"one sample, {len(field)} x {field.shape[1]} points, u", field, SHOWN),
        ("four by four patches of it", field[:part, :part], SHOWN),
        ("variance over tiles of two by two patches, relative error", errors, limit),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for ax, (title, values, bound) in zip(axes, shown, strict=True):
        options = {"origin": "lower", "cmap": "RdBu", "vmin": -bound, "vmax": bound}
        image = ax.imshow(values[..., 0].T, interpolation="nearest", **options)
        ax.set_title(title, fontsize=8)
        ax.axis("off")
        figure.colorbar(image, ax=ax, shrink=0.8)
    figure.savefig(path, dpi=90)


def main() -> None:
    """Read, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("field", type=Path, help="store of `large_fields.py`")
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    field, chunks = read_field(options.field)
    text = json.dumps(compare(field, chunks), indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.figure is not None:
        save_figure(options.figure, field, chunks)


if __name__ == "__main__":
    main()
