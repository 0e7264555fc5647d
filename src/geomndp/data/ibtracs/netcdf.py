"""NOAA's NetCDF layout: (storm, date_time) arrays filled up to the longest storm."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geomndp.data.ibtracs.layout import position_columns, wanted_columns
from geomndp.data.ibtracs.text import RawTable


def _text(values: np.ndarray) -> np.ndarray:
    """Strings of an array of bytes, or of anything else; blanks become empty."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    return np.char.strip(values.astype(str))


def _open(path: Path):
    import xarray as xr

    try:
        # Times as numbers: they are read from `iso_time`, which is exact.
        return xr.open_dataset(path, engine="h5netcdf", decode_times=False).load()
    except (OSError, RuntimeError, KeyError, EOFError, ValueError) as error:
        raise ValueError(f"expected a complete NetCDF file, got {path.name}: {error}") from error


def _column(data, name: str, shape: tuple[int, int]) -> np.ndarray:
    """Cells (storm, point) of a variable; one that is given once per storm is repeated."""
    variable = data[name.lower()]
    values = variable.values
    if values.dtype.kind in "SUO":
        values = _text(values)
    if variable.dims == ("storm",):
        return np.broadcast_to(values[:, None], shape)
    if variable.dims != ("storm", "date_time"):
        expected = "(storm) or (storm, date_time)"
        raise ValueError(f"expected dimensions {expected} of {name.lower()}, got {variable.dims}")
    return values


def read_netcdf(path: Path, *, agency: str | None, extra: tuple[str, ...]) -> RawTable:
    """Cells of a NetCDF file, storm by storm; numbers stay numbers.

    Args:
        path: The file.
        agency: Agency of the positions, None for IBTrACS' own.
        extra: Further columns to read.

    Returns:
        The cells, with the location of every row in the file.

    Raises:
        ValueError: If the file is damaged or lacks columns.
    """
    data = _open(path)
    names = [str(name).upper() for name in data.variables]
    position = position_columns(agency, names)
    wanted = wanted_columns(names, position, extra, path.name)
    if data["lat"].dims != ("storm", "date_time"):
        raise ValueError(f"expected lat (storm, date_time) in {path.name}, got {data['lat'].dims}")
    shape = (data.sizes["storm"], data.sizes["date_time"])
    columns = {name: _column(data, name, shape) for name in wanted}
    # A row is one that has a time or a position: what is left is filling.
    real = (columns["ISO_TIME"] != "") | np.isfinite(columns["LAT"])
    if "NUMOBS" in names:
        counts = data["numobs"].values
        real |= np.arange(shape[1])[None, :] < np.nan_to_num(counts)[:, None]
    storm, point = np.nonzero(real)
    rows = np.array(
        [f"storm {i}, point {j}" for i, j in zip(storm, point, strict=True)], dtype=object
    )
    return RawTable({name: cells[real] for name, cells in columns.items()}, rows, position, [])
