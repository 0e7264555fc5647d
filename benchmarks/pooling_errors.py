"""Errors of the pooling by Fourier series and by cells, against all pairs in float64.

    python benchmarks/pooling_errors.py

The averages of `Steerable2` and their angular moments, of the pooling widths of a shipped network,
for features that are all one, have random signs, or the signs of half-planes, on designs that are
hard for rounding and truncation: lattices, uniform points, a cluster, coincident points, and lone
ones beside these. "error" is the largest of an average over the largest feature, "bound" what the
package promises for the design, "used" whether it takes the form there: only with a bound of at
most 1e-5. Forms that it does not take are computed all the same: error / bound says how safe the
bound is.
"""

import argparse
import json

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import numpy as np
from _table import markdown

from geomndp.nets.steerable_2d import fourier_sums
from geomndp.nets.steerable_2d.cell_layout import TOLERANCE, cell_layout
from geomndp.nets.steerable_2d.fourier_sums import fourier_layout
from geomndp.nets.steerable_2d.gaussian_pooling import gaussian_pooling, pooling_widths

RADIUS, NUM_WIDTHS, SPACING, COUNT = 1.95, 4, 20 / 29, 1500
ANYTHING = 1e3


def designs(count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Locations (n, 2) by name."""
    side = int(np.sqrt(count))
    width = SPACING * side
    axis = SPACING * np.arange(side)
    lattice = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    lone = width * np.array([[1.2, 1.2], [-0.2, 0.5], [1.1, -0.1]])
    uniform = rng.uniform(0, width, (count, 2))
    cluster = 0.1 * width * rng.normal(size=(count // 2, 2)) + width / 2
    return {
        "lattice": lattice,
        "lattice, 1,000 away": lattice + 1000,
        "lattice, lone points": np.concatenate([lattice, lone]),
        "uniform": uniform,
        "uniform, cluster": np.concatenate([uniform[: count // 2], cluster]),
        "coincident, uniform": np.concatenate([uniform[:700], np.tile(uniform[:1], (300, 1))]),
        "cluster, lone points": np.concatenate([cluster, lone]),
    }


def features_of(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Features (n, 1, H, 4): ones, random signs, and signs of half-planes."""
    random, halves = rng.choice([-1.0, 1.0], len(x)), np.sign(x - x.mean(axis=0) + 1e-9)
    signs = [np.ones(len(x)), random, *halves.T]
    return np.repeat(np.stack(signs, axis=1)[:, None, None], NUM_WIDTHS, axis=2)


def reference(x: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Averages and moments (5, 1, n, H, c) of all pairs."""
    parts = []
    for number, width in enumerate(pooling_widths(RADIUS, NUM_WIDTHS)):
        u, v = np.moveaxis((x[None] - x[:, None]) / width, -1, 0)
        weights = np.exp(-0.5 * (u**2 + v**2))
        shares = weights / weights.sum(axis=1, keepdims=True)
        moments = (np.ones_like(u), u, v, u**2 - v**2, 2 * u * v)
        parts.append(np.stack([shares * m @ features[:, 0, number] for m in moments]))
    return np.stack(parts, axis=2)[:, None]


def pooled(x: np.ndarray, features: np.ndarray, layouts: tuple) -> np.ndarray:
    """The same on the device, in float32."""

    @jax.jit
    def run(x, features):
        ones = jnp.ones(len(x), x.dtype)
        width = (RADIUS, NUM_WIDTHS)
        return gaussian_pooling(x, ones, *width, x.dtype, True, layouts)[1](features)

    return np.asarray(run(x.astype(np.float32), features.astype(np.float32)))


def measure(name: str, x: np.ndarray, rng: np.random.Generator) -> list[dict]:
    """Rows of one design."""
    x = x.astype(np.float32).astype(np.float64)
    widths, features = pooling_widths(RADIUS, NUM_WIDTHS), features_of(x, rng)
    expected = reference(x, features)
    cells = tuple(cell_layout(x, width, True) for width in widths)
    series = fourier_layout(x, widths, True, ANYTHING)
    bound = fourier_sums.error_bound(x, float(np.min(widths)))
    forms = {} if series is None else {"series": ((series,) * NUM_WIDTHS, bound)}
    forms |= {} if None in cells else {"cells": (cells, TOLERANCE)}
    rows = []
    for form, (layouts, most) in forms.items():
        error = float(np.max(np.abs(pooled(x, features, layouts) - expected)))
        row = {"design": name, "points": len(x), "pooling": form, "error": error, "bound": most}
        rows.append(row | {"used": most <= TOLERANCE})
    return rows


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=COUNT, help="of a design, about")
    parser.add_argument("--designs", type=int, help="the first so many alone")
    parser.add_argument("--out", help="JSON file of the rows")
    options = parser.parse_args()
    rng, rows = np.random.default_rng(0), []
    for name, x in [*designs(options.points, rng).items()][: options.designs]:
        rows += measure(name, x, rng)
    device = jax.devices()[0].device_kind
    names = ("design", "points", "pooling", "error", "bound", "used")
    cells = [[row[k] if isinstance(row[k], float) else str(row[k]) for k in names] for row in rows]
    print(markdown(names, cells))
    used = [row["error"] for row in rows if row["used"]]
    print(f"largest error where used {max(used):.1e}, promised {TOLERANCE:.0e} ({device})")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
