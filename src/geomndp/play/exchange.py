"""Observations and samples of a page as files: CSV, NetCDF and GeoJSON, out and in again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geomndp import _table_files, _validation
from geomndp.geometry.geodesy import to_latlon
from geomndp.play.requests import Request, read_request
from geomndp.play.scene import EARTH, GLOBE, Scene
from geomndp.play.session import Session
from geomndp.tables import read_observations, write_samples
from geomndp.tables.geojson import check_points
from geomndp.tables.to_arrays import numeric, read_columns
from geomndp.tables.units import check_deviation

FORMATS = {"csv": "text/csv", "nc": "application/netcdf", "geojson": "application/geo+json"}
"""Endings of files that are written, with their media types; the first two are read too."""
WHAT = ("observations", "samples")
STD = "std"
"""Column of the standard deviation of the noise, in km for locations on the Earth."""
ROW = "observation"


class File(NamedTuple):
    """A file in memory: its name, media type and content."""

    name: str
    media: str
    content: bytes


def export(session: Session, request: Request, what: str, ending: str) -> File:
    """Write the observations of a page, or the samples of its last answer.

    Args:
        session: The model.
        request: The state of the page.
        what: "observations" or "samples".
        ending: "csv", "nc" or "geojson".

    Returns:
        The file.

    Raises:
        ValueError: For another ending, or functions that no map can show.
    """
    _validation.one_of("file", ending, tuple(FORMATS))
    _validation.one_of("content", what, WHAT)
    if ending == "geojson":
        check_points(session.scene.variables)
    names = session.scene.variables.input_names
    if what == "samples":
        dataset = _samples(session, request)
    else:
        dataset = _as_dataset(session.scene, request)
    name = f"{what}.{ending}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        _table_files.write_table(str(path), dataset, names)
        return File(name, FORMATS[ending], path.read_bytes())


def import_observations(scene: Scene, name: str, content: bytes) -> list[dict[str, Any]]:
    """Read observations from a file.

    Args:
        scene: Names of the columns.
        name: Name of the file, for its ending.
        content: Its bytes.

    Returns:
        Observations as the state of a page has them.

    Raises:
        ValueError: If the file is none that is read, or its rows do not fit the model.
    """
    ending = name.rpartition(".")[2].lower()
    _validation.one_of("file to read", ending, ("csv", "nc"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"observations.{ending}"
        path.write_bytes(content)
        try:
            table = _table_files.read_table(str(path))
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), "the file")) from error
    return read_table(scene, table)


def read_table(scene: Scene, table: Any) -> list[dict[str, Any]]:
    """Observations of a table as the state of a page has them.

    Args:
        scene: Names of the columns.
        table: DataFrame or Dataset with the model's columns, and perhaps `std`.

    Returns:
        Rows of x, y and std.

    Raises:
        ValueError: If columns lack, values are out of bounds, or `std` has other units than the
            outputs.
    """
    x, y, _, _ = read_observations(scene.variables, table)
    assert y is not None
    std = np.zeros(len(x))
    if STD in table:
        found = read_columns(table, scene.variables.input_names, (STD,))
        stated = [output.units for output in scene.variables.outputs]
        check_deviation(STD, found.units[STD], stated, scene.kind == GLOBE)
        std = numeric(STD, found.values[STD])
    gone = np.ma.getmaskarray(y)
    values = np.asarray(np.ma.getdata(y), np.float64)
    columns = scene.variables.from_values(values)
    x = np.asarray(x, np.float64)
    x = np.stack(to_latlon(x), axis=-1) if scene.kind == EARTH else x
    if scene.kind == GLOBE:
        gone = np.broadcast_to(gone.any(axis=1, keepdims=True), columns.shape)
    rows = [
        {
            "x": x[i].tolist(),
            "y": [None if g else v for v, g in zip(row.tolist(), gone[i].tolist(), strict=True)],
            "std": float(std[i]),
        }
        for i, row in enumerate(columns)
    ]
    read_request(scene, {"observations": rows})
    return rows


def _as_dataset(scene: Scene, request: Request) -> Any:
    import xarray as xr

    variables, n = scene.variables, len(request.x)
    if not n:
        raise ValueError("expected at least one observation to write, got none")
    named = (*variables.inputs, *variables.outputs)
    columns = np.concatenate([request.x, request.y], axis=1).T
    parts = {
        each.name: (ROW, column, each.attributes)
        for each, column in zip(named, columns, strict=True)
    }
    stated = {"km"} if scene.kind == GLOBE else {output.units for output in variables.outputs}
    units = {"units": stated.pop()} if len(stated) == 1 and stated != {""} else {}
    dataset = xr.Dataset({**parts, STD: (ROW, request.std, units)})
    # Latitudes and longitudes of tracks are values, those of fields are where values are.
    return dataset.set_coords(variables.input_names) if scene.kind == EARTH else dataset


def _samples(session: Session, request: Request) -> Any:
    """Dataset of the samples, on the grid of the targets."""
    import xarray as xr

    x, y = session.draw(request, session.stages(request)[-1])
    names = session.scene.variables.input_names
    axes = {name: np.unique(x[:, i]) for i, name in enumerate(names)}
    if len(names) == 2:  # the first input runs fastest, a Dataset's last
        shape = (request.num_samples, request.targets, request.targets, -1)
        y = np.asarray(y).reshape(shape).swapaxes(1, 2).reshape(request.num_samples, len(x), -1)
    return write_samples(session.scene.variables, xr.Dataset(coords=axes), np.asarray(y))
