"""The cyclone experiment: its models, and where its parts are. No JAX.

`cyclones/ibtracs` is a diffusion on S^2 whose network works in local frames and sees latitude,
longitude and the storm's age; `cyclones/ibtracs-axis` sees latitudes only and is equivariant under
rotations about the Earth's axis. `cyclones/ibtracs-latlon` has no geometry: a diffusion of latitude
and longitude in flat space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from geomndp.experiments.base import Experiment
from geomndp.experiments.metric_columns import MetricColumns


class CycloneSpec(NamedTuple):
    """Where tracks lie, and the shortest wavelength of absolute features (zero: none)."""

    on_sphere: bool
    absolute_min_wavelength: float = 0.0


MODELS = {
    "cyclones/ibtracs": CycloneSpec(True, 0.5),
    "cyclones/ibtracs-axis": CycloneSpec(True),
    "cyclones/ibtracs-latlon": CycloneSpec(False),
}


def _cells(metrics: Mapping[str, dict]) -> tuple[str, ...]:
    """Error of the mean, coverage and log-density, of interpolation and of extrapolation."""
    return tuple(
        cell
        for region in ("interpolation", "extrapolation")
        for cell in _region(metrics.get(region))
    )


def _region(metrics: dict | None) -> tuple[str, str, str]:
    if metrics is None:
        return "", "", ""
    nats = metrics.get("log_prob")
    error, coverage = f"{metrics['mean_error']:.0f} km", f"{metrics['coverage']:.2f}"
    return error, coverage, "" if nats is None else f"{nats[0]:.0f}"


EXPERIMENT = Experiment.in_folder_of(
    __name__,
    name="cyclones",
    title="Cyclones\n\nDistances in km, log-densities in nats by area.",
    models=tuple(MODELS),
    columns=MetricColumns(
        "error of the mean, coverage of 90 % regions and nats per track, "
        "interpolation and extrapolation",
        ("interpolation", "cover", "nats", "extrapolation", "cover", "nats"),
        _cells,
    ),
    steps=10_000,  # the loss on storms held out rises after that
    batch_size=512,
    regions=("interpolation", "extrapolation"),
    data_options={"data": None, "split": 0},
    quick_options={"density": False},
)
