"""Winds at 25 stations in a CSV to a field on a grid in NetCDF, with its uncertainty.

The stations are synthetic: they sample the process of the model's training data, divergence-free
fields, so that the field between them is known and the uncertainty can be checked.

    python examples/stations_to_field.py --out out/stations
"""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import tyro
import xarray as xr

from geomndp.cli import main
from geomndp.data import field_problem

MODEL = "vector-fields/div-free"
EXTENT = 10.0


def make_stations(axis: np.ndarray, number: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Readings at scattered stations, and the same field (n, n, 2) on the grid of an axis."""
    scattered = jr.uniform(jr.key(3), (number, 2), minval=-0.7 * EXTENT, maxval=0.7 * EXTENT)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    locations = jnp.concatenate([scattered, jnp.asarray(grid.reshape(-1, 2), scattered.dtype)])
    values = np.asarray(field_problem("div-free").gp.sample(locations, key=jr.key(4)))
    values = values.reshape(-1, 2)
    table = np.concatenate([np.asarray(scattered), values[:number]], axis=1)
    return pd.DataFrame(table, columns=["x", "y", "u", "v"]), values[number:].reshape(grid.shape)


def walk(
    out: Path = Path("out/stations"), points: int = 30, num_samples: int = 32, steps: int = 30
) -> float:
    """Return the share of the field that lies within its 90 % intervals."""
    out.mkdir(parents=True, exist_ok=True)
    stations, truth = make_stations(np.linspace(-EXTENT, EXTENT, points), 25)
    stations.to_csv(out / "stations.csv", index=False)

    axis = f"{-EXTENT}:{EXTENT}:{points}pts"
    command = ["condition", MODEL, f"{out}/stations.csv", "--targets", f"x={axis}", f"y={axis}"]
    options = ["--num-samples", str(num_samples), "--steps", str(steps), "--seed", "1"]
    print("geomndp", *command, *options, "--summary", "--out", f"{out}/field.nc")
    if code := main([*command, *options, "--summary", "--out", f"{out}/field.nc"]):
        raise SystemExit(code)

    with xr.open_dataset(out / "field.nc") as field:
        inside = [
            (field[f"{name}_q05"] <= truth[..., i]) & (truth[..., i] <= field[f"{name}_q95"])
            for i, name in enumerate("uv")
        ]
        known = np.hypot(field.x, field.y) < EXTENT
        share = float(np.mean([part.where(known).mean() for part in inside]))
        near, far = float(field.u_sd.min()), float(field.u_sd.max())
    print(f"standard deviation of u: from {near:.2f} at stations to {far:.2f} far from them")
    print(f"{share:.0%} of the true field lies within the 90 % intervals")
    return share


if __name__ == "__main__":
    tyro.cli(walk)
