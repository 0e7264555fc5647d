"""Tables in files, by the ending of their names; written whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from geomndp import _files

UNITS = re.compile(r"(.*\S)\s*\[(.*)\]")
"""A header that states units: time [hours]."""


def read_table(path: str) -> Any:
    """Read a DataFrame (.csv, .parquet) or a Dataset (.nc)."""
    read = _by_ending(path, READERS, "to read")
    if not Path(path).is_file():
        raise ValueError(f"expected a file {path}, got none")
    try:
        return read(path)
    except (ValueError, OSError) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"expected a table in {path}, got a damaged one: {text[:120]}") from error


def is_file(path: str) -> bool:
    """Whether this is the name of a table's file, by its ending."""
    return Path(path).suffix.lower() in READERS


def check_output(path: str) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    _by_ending(path, WRITERS, "to write")
    _files.check_writable(path)


def write_table(path: str, dataset: Any, inputs: tuple[str, ...]) -> None:
    """Write a Dataset of samples or of their summaries."""
    write = _by_ending(path, WRITERS, "to write")
    with _files.whole(path) as temporary:
        write(temporary, dataset, inputs)


def as_frame(dataset: Any) -> Any:
    """Tidy DataFrame of a Dataset: one row a sample and place."""
    order = sorted(dataset.sizes, key=lambda dim: dim != "sample")
    frame = dataset.to_dataframe(dim_order=order).reset_index()
    frame = frame.drop(columns=[dim for dim in order if dim not in dataset.coords])
    units = {str(name): str(a.attrs["units"]) for name, a in dataset.items() if "units" in a.attrs}
    frame.attrs = {"units": units} if units else {}
    return frame


def _by_ending(path: str, known: dict[str, Callable], what: str) -> Callable:
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise ValueError(f"expected a file {what} that ends in {', '.join(known)}, got {path!r}")
    package, extra = NEEDED.get(ending, ("pandas", "data"))
    if find_spec(package) is None:
        raise ValueError(f"expected {package} for {path}, got none: pip install 'geomndp[{extra}]'")
    return known[ending]


def _read_csv(path: str) -> Any:
    """Read columns; ISO 8601 becomes datetimes, units in the header are kept apart."""
    import pandas as pd

    frame = pd.read_csv(path, comment="#", skipinitialspace=True)
    if len(frame.columns) == 1 and ";" in frame.columns[0]:
        raise ValueError("columns parted by semicolons, not commas")
    stated = {name: UNITS.fullmatch(name) for name in frame.columns}
    frame = frame.rename(columns={name: found[1] for name, found in stated.items() if found})
    units = {found[1]: found[2] for found in stated.values() if found}
    if not len(frame):
        frame = frame.astype(float)
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(d) for d in frame.dtypes]]:
        try:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True).dt.tz_localize(
                None
            )
        except ValueError:
            continue
    frame.attrs["units"] = units
    return frame


def _read_parquet(path: str) -> Any:
    import pandas as pd

    return pd.read_parquet(path)


def _read_netcdf(path: str) -> Any:
    import xarray as xr

    with xr.open_dataset(path) as dataset:
        return dataset.load()


def _write_netcdf(path: Path, dataset: Any, _) -> None:
    dataset.to_netcdf(path, engine="h5netcdf")


def _write_csv(path: Path, dataset: Any, _) -> None:
    as_frame(dataset).to_csv(path, index=False)


def _write_parquet(path: Path, dataset: Any, _) -> None:
    as_frame(dataset).to_parquet(path, index=False)


def _write_geojson(path: Path, dataset: Any, inputs: tuple[str, ...]) -> None:
    from geomndp.cli.geojson import features

    collection = {"type": "FeatureCollection", "features": features(dataset, inputs)}
    path.write_text(json.dumps(collection), encoding="utf-8")


NEEDED = {".parquet": ("pyarrow", "parquet"), ".nc": ("h5netcdf", "data")}
"""Package for the files of an ending, and the extra that has it."""
READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".nc": _read_netcdf}
WRITERS = {
    ".nc": _write_netcdf,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".geojson": _write_geojson,
}
