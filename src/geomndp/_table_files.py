"""Tables in files, by suffix; whatever a damaged file makes of a library is a ValueError."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from geomndp import _arrays, _atomic_io
from geomndp._csv_files import ASSUMED, read_csv
from geomndp._guarded import find_fault
from geomndp._missing_columns import LEVELS
from geomndp._warnings import warn_at_request

STORE = ".zarr"
READ_SECONDS, READ_SPEED = 10, 20_000_000  # seconds for any file, and bytes per further second


def read_table(path: str, *labels: str | None) -> Any:
    """Read a DataFrame (.csv, .parquet) or a Dataset (.nc).

    Args:
        path: The file.
        *labels: Names of columns whose values are labels, as those of functions are: read from
            text, 007 and 7 are two of them. None stands for no column.

    Raises:
        ValueError: If there is no such file, or it cannot be read.
    """
    read = _by_suffix(path, READERS, "to read")
    if not Path(path).is_file():
        raise ValueError(f"expected a file {path}, got none")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = read(path, tuple(filter(None, labels)))
    # Damage shows as any type of error: KeyError in h5py, TypeError in pandas.
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"expected a table in {path}, got none: {text[:200]}") from error
    if assumed := table.attrs.pop(ASSUMED, ""):
        warn_at_request(f"CSV read with {assumed}", UserWarning)
    return table


def _read_parquet(path: str, _) -> Any:
    import pandas as pd

    frame = pd.read_parquet(path)
    units = frame.attrs.get("units", {})
    levels = [n for n in frame.index.names if n is not None and n not in frame.columns]
    frame = frame.reset_index(levels)
    if not isinstance(units, dict):
        raise ValueError(f"units by column as a {type(units).__name__}")
    frame.attrs[LEVELS] = tuple(levels)
    frame.attrs["units"] = {str(name): str(unit) for name, unit in units.items()}
    return frame


def _read_netcdf(path: str, _) -> Any:
    import h5netcdf  # noqa: F401  # before the fork, whose time is limited
    import xarray  # noqa: F401

    seconds = READ_SECONDS + Path(path).stat().st_size // READ_SPEED
    if wrong := find_fault(lambda: _load(path), int(seconds)):
        raise ValueError(wrong)
    return _load(path)


def _load(path: str) -> Any:
    import xarray as xr

    with xr.open_dataset(path) as dataset:
        free = _arrays.free_bytes()
        if free is not None and dataset.nbytes > free / 4:
            raise ValueError(f"{dataset.nbytes:.0e} bytes, more than a quarter of the free memory")
        return dataset.load()


def is_file(path: str) -> bool:
    """Whether this is the name of a table's file, by its suffix."""
    return Path(path).suffix.lower() in READERS


def is_frame(table: Any) -> bool:
    """Whether a table is a DataFrame; asked before JAX, and the library's tables, are imported."""
    import pandas as pd

    return isinstance(table, pd.DataFrame)


def is_store(path: str | None) -> bool:
    """Whether this is the name of a Zarr store."""
    return path is not None and Path(path).suffix.lower() == STORE


def check_output(path: str | None) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path is None:
        return
    if is_store(path):
        _by_suffix(path, {STORE: check_output}, "to write")
        _atomic_io.check_writable(Path(path).with_suffix(".begun"))
        return
    _by_suffix(path, WRITERS, "to write")
    _atomic_io.check_writable(path)


def write_table(path: str, dataset: Any, inputs: tuple[str, ...]) -> None:
    """Write a Dataset of samples or of their summaries."""
    write = _by_suffix(path, WRITERS, "to write")
    with _atomic_io.replacing(path) as temporary:
        write(temporary, dataset, inputs)


def _by_suffix(path: str, known: dict[str, Callable], what: str) -> Callable:
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise ValueError(f"expected a file {what} that ends in {', '.join(known)}, got {path!r}")
    package, extra = NEEDED.get(suffix, ("pandas", "data"))
    if find_spec(package) is None:
        raise ValueError(f"expected {package} for {path}, got none: pip install 'geomndp[{extra}]'")
    return known[suffix]


def _write_netcdf(path: Path, dataset: Any, _) -> None:
    dataset.to_netcdf(path, engine="h5netcdf")


def _write_csv(path: Path, dataset: Any, _) -> None:
    from geomndp.tables.xarray_adapter import as_frame

    as_frame(dataset).to_csv(path, index=False)


def _write_parquet(path: Path, dataset: Any, _) -> None:
    from geomndp.tables.xarray_adapter import as_frame

    as_frame(dataset).to_parquet(path, index=False)


def _write_geojson(path: Path, dataset: Any, inputs: tuple[str, ...]) -> None:
    from geomndp.tables.geojson import features

    collection = {"type": "FeatureCollection", "features": features(dataset, inputs)}
    path.write_text(json.dumps(collection), encoding="utf-8")


READERS = {".csv": read_csv, ".parquet": _read_parquet, ".nc": _read_netcdf}
NEEDED = {
    ".parquet": ("pyarrow", "parquet"),
    ".nc": ("h5netcdf", "data"),
    STORE: ("zarr", "scale"),
}
"""Package that a suffix needs, and the extra that has it."""
WRITERS = {
    ".nc": _write_netcdf,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".geojson": _write_geojson,
}
