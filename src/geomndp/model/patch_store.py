"""Large fields of a posterior in a Zarr store: written patch by patch, resumed where they stopped.

Memory does not grow with the field: a patch, its context and the coordinates are all that is held.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._progress import Progress
from geomndp._validation import as_key
from geomndp.geometry.geodesy import to_latlon
from geomndp.model.inputs import Seed
from geomndp.model.patchwise import field_dtype, field_on, read_layout
from geomndp.patches import Layout, MemoryValues, Patches, PatchwiseField, run
from geomndp.patches.zarr_values import GROUP, ZarrValues, check_record, create_store, read_record
from geomndp.scale import Scheduler, as_finished, check_scheduler
from geomndp.tables import Variables, is_table
from geomndp.tables.xarray_adapter import SAMPLE, is_data_array, is_dataset, spanned_shape, write
from geomndp.train.fingerprint import describe_array, fingerprint
from geomndp.train.lock import FolderInUse, hold

POINT, ROW = "point", "row"
"""Dimension of scattered points, and the coordinate that has their rows in the table or array."""
SUFFIX = ".zarr"


def sample_to_zarr(
    posterior: Any,
    x: Any,
    out: str | os.PathLike[str],
    *,
    key: Seed,
    num_samples: int = 1,
    patches: Patches | str | None = None,
    progress: Progress = True,
    scheduler: Scheduler = None,
    **options: Any,
) -> Any:
    """Draw a field of any size into a Zarr store, or go on with one that was begun.

    The chunks of the store are the patches. Each is written whole and then marked; a request that
    was stopped resumes and gives the same bits as one that was not. The store is that
    of this very request: another model, key, scheme, ... is refused.

    Args:
        posterior: Law of a model whose variables have names.
        x: Inputs: a Dataset, whose dimensions the field has, a DataFrame or an array, whose rows
            become a dimension `point` in the order of the patches, with a coordinate `row`.
        out: Folder of the store, which ends in `.zarr`.
        key: Random key or seed.
        num_samples: Number of draws.
        patches: Scheme, by default "auto"; where a field was begun, that of this field.
        progress: As in `Posterior.sample`, in numbers of patches.
        scheduler: Who draws the patches of one colour, as in `Posterior.sample`; processes of other
            machines need the folder too.
        **options: Of learnt laws `sampler` and `max_memory`.

    Returns:
        The field as a Dataset that is read from the store as needed.

    Raises:
        ValueError: If the store was begun by another request, or is something else.

    Example:
        `posterior.sample(grid, key=0, num_samples=1, patches="auto", out="field.zarr")`
    """
    if Path(out).suffix.lower() != SUFFIX:
        raise ValueError(f"expected a store that ends in {SUFFIX}, got {os.fspath(out)!r}")
    check_scheduler(scheduler)  # before anything is written
    patches = "auto" if patches is None else patches
    field = begin_field(posterior, x, out, as_key(key), num_samples, patches, **options)
    return finish_field(field, out, progress, scheduler)


def finish_field(
    field: PatchwiseField,
    out: str | os.PathLike[str],
    progress: Progress = True,
    scheduler: Scheduler = None,
) -> Any:
    """Draw what is left of a field in a store; arguments and result as of `sample_to_zarr`."""
    import xarray as xr

    assert isinstance(field.values, ZarrValues)
    try:
        with hold(Path(out) / GROUP):
            run(field, progress, as_finished(scheduler))
    except FolderInUse:
        raise ValueError(f"expected a store that no other process writes, got {out}") from None
    names = list(field.values.variables.output_names)  # a store lists them in any order
    return xr.open_zarr(out, consolidated=False)[names]


def begin_field(
    posterior: Any,
    x: Any,
    out: str | os.PathLike[str],
    key: Any,
    num_samples: int,
    patches: Any,
    **options: Any,
) -> PatchwiseField:
    """A field in a store that is made, or checked to be of the same request; see `sample_to_zarr`.

    Returns:
        The field, of which some patches may be done.
    """
    variables = _names(posterior)
    _validation.at_least(1, num_samples=num_samples)
    old = read_record(out)
    if old is not None and patches == "auto":
        patches = Patches(**old["patches"])
    raw, layout = read_layout(posterior, x, patches)
    field = field_on(posterior, (raw, layout), key, num_samples, MemoryValues(), **options)
    dtype = field_dtype(posterior, x)
    record = _record(posterior, layout, key, num_samples, dtype, options)
    if old is None:
        template, dims = _template(x, layout, variables, num_samples)
        create_store(out, template, dims, layout, variables, num_samples, dtype, record)
    else:
        check_record(out, old, record)
    return dataclasses.replace(field, values=ZarrValues(out, layout, variables))


def _names(posterior: Any) -> Variables:
    if posterior.variables is None:
        raise ValueError(
            "expected names of inputs and outputs for a store, got none; see "
            "model.with_variables(inputs=..., outputs=...)"
        )
    return posterior.variables


def _record(
    posterior: Any, layout: Layout, key: Any, num_samples: int, dtype: Any, options: dict
) -> dict[str, Any]:
    """What a request is, as JSON: the same record, the same field."""
    locations = layout.levels[-1].locations
    columns = [describe_array(part.values) for part in locations.coordinates]
    columns += [] if locations.rows is None else [describe_array(locations.rows)]
    return {
        "posterior": _digest(fingerprint(posterior)),
        "targets": _digest({"shape": str(locations.shape), "columns": str(columns)}),
        "key": describe_array(key),
        "num_samples": int(num_samples),
        "dtype": str(np.dtype(dtype)),
        "sampler": fingerprint(options.get("sampler")),
        "patches": layout.scheme.description,
    }


def _digest(parts: dict[str, str]) -> str:
    text = json.dumps(parts, sort_keys=True)
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def _template(
    x: Any, layout: Layout, variables: Variables, num_samples: int
) -> tuple[Any, tuple[str, ...]]:
    """Dataset of the coordinates of a field, and the names of its dimensions."""
    import xarray as xr

    names, rows = variables.input_names, layout.levels[-1].locations.rows
    if not (is_dataset(x) or is_data_array(x)):
        values = [x[name].to_numpy() for name in names] if is_table(x) else _columns(x, variables)
        coords = {name: (POINT, v) for name, v in zip(names, values, strict=True)}
        x = xr.Dataset(coords=coords)
    dims = tuple(spanned_shape(x, names))
    if rows is not None:
        (dim,) = dims
        x = x.isel({dim: rows}).assign_coords({ROW: (dim, rows)})
    count = layout.levels[-1].locations.size
    nothing = np.broadcast_to(np.float32(0), (1, count, len(variables.outputs)))
    empty = write(x, variables, nothing).drop_vars(list(variables.output_names))
    numbers = empty.coords[SAMPLE]
    empty = empty.drop_vars(SAMPLE)
    return empty.assign_coords({SAMPLE: (SAMPLE, np.arange(num_samples), numbers.attrs)}), dims


def _columns(x: Any, variables: Variables) -> list[np.ndarray]:
    """Columns of a table from inputs (n, d), of which a model on the sphere has unit vectors."""
    rows = np.asarray(x).reshape(len(x), -1)
    if variables.domain == "real":
        return [*rows.T]
    latitude, longitude = map(np.asarray, to_latlon(rows[:, :3].astype(np.float64)))
    return [latitude, longitude, *rows[:, 3:].T]
