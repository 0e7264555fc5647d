"""The fitted process of winds that comes with the package, and how it is fitted.

python -m geomndp.experiments.sphere_winds.stored axial_gp.npz
"""

from __future__ import annotations

import argparse
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _atomic_io
from geomndp.experiments.sphere_fields.winds import training_batch
from geomndp.experiments.sphere_winds.axial_gp import (
    AxialParameters,
    as_constants,
    axial_gp,
    features,
    fit_axial_gp,
)
from geomndp.experiments.sphere_winds.climatology import read_climatology, seasonal_anomalies
from geomndp.experiments.sphere_winds.units import SCALE
from geomndp.gp import GP

STORED = Path(__file__).parent / "axial_gp.npz"
FIT_POINTS, FIT_EVERY = 150, 2
"""Random points of a field, and the stride between its training times, of the fit."""


@functools.cache
def stored_gp() -> GP:
    """The process of maximum likelihood of the training times, of values in units of `SCALE`."""
    with np.load(STORED) as stored, jax.enable_x64(True):
        arrays = {name: jnp.asarray(stored[name], "float64") for name in stored}
        columns = arrays.pop("columns")
        return as_constants(axial_gp(AxialParameters(**arrays), columns))


def fit(folder: str | None = None) -> dict[str, np.ndarray]:
    """Parameters and features of the process, from the winds of the training times.

    Args:
        folder: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
    """
    climatology = read_climatology(folder)
    columns = features(climatology)
    batch = training_batch(seasonal_anomalies(folder, climatology), FIT_POINTS, every=FIT_EVERY)
    parameters = fit_axial_gp(batch._replace(y=batch.y / SCALE), columns)
    return {**parameters._asdict(), "columns": columns.astype(np.float32)}


def main() -> None:
    """Fit, and write the file."""
    parser = argparse.ArgumentParser(description="Fit the Gaussian process of winds.")
    parser.add_argument("out")
    parser.add_argument("--data", help="folder of the weather fields")
    options = parser.parse_args()
    with _atomic_io.replacing(Path(options.out)) as path, open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **fit(options.data))


if __name__ == "__main__":
    main()
