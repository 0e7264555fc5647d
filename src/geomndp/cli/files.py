"""Tables in files, by the ending of their names; written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from geomndp import _atomic_io
from geomndp.cli.readers import READERS, read


def read_table(path: str) -> Any:
    """Read a DataFrame (.csv, .parquet) or a Dataset (.nc)."""
    _by_ending(path, READERS, "to read")
    return read(path)


def is_file(path: str) -> bool:
    """Whether this is the name of a table's file, by its ending."""
    return Path(path).suffix.lower() in READERS


def check_output(path: str) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    _by_ending(path, WRITERS, "to write")
    _atomic_io.check_writable(path)


def write_table(path: str, dataset: Any, inputs: tuple[str, ...]) -> None:
    """Write a Dataset of samples or of their summaries."""
    write = _by_ending(path, WRITERS, "to write")
    with _atomic_io.replacing(path) as temporary:
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
WRITERS = {
    ".nc": _write_netcdf,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".geojson": _write_geojson,
}
