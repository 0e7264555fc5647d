"""Drawn patches in a Zarr store: chunks are patches, each marked as done once it is whole.

Outputs are arrays of the root group, which xarray opens. The group `patches` beside them holds the
record of the request, a mark per patch, and the values of the coarse field where there is one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from geomndp.patches.layout import Layout, Patch
from geomndp.patches.values import AbstractValues
from geomndp.tables import Variables
from geomndp.tables.xarray_adapter import SAMPLE
from geomndp.train.fingerprint import differences

GROUP, DONE, COARSE = "patches", "done", "coarse"
RECORD = "geomndp"


class ZarrValues(AbstractValues):
    """Values of patches in a store that `create_store` has made.

    Args:
        path: Folder of the store.
        layout: The patches.
        variables: Names of the outputs, and how they are written.
    """

    def __init__(self, path: str | os.PathLike[str], layout: Layout, variables: Variables) -> None:
        self.path, self.layout, self.variables = Path(path), layout, variables
        self._open()

    def _open(self) -> None:
        import zarr

        root: Any = zarr.open_group(self.path, mode="r+")
        names = self.variables.output_names
        self._levels = [[root[name] for name in names]]
        if len(self.layout.levels) > 1:
            coarse = [root[f"{GROUP}/{COARSE}_{name}"] for name in names]
            self._levels = [coarse, *self._levels]
        self._done = root[f"{GROUP}/{DONE}"]

    def __getstate__(self) -> dict[str, Any]:
        """The store is opened again where this is sent to."""
        return {name: vars(self)[name] for name in ("path", "layout", "variables")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    def read(self, patch: Patch) -> np.ndarray:
        where = (slice(None), *patch.slices)
        parts = [np.asarray(array[where]) for array in self._levels[patch.level]]
        columns = np.stack([part.reshape(len(part), -1) for part in parts], axis=-1)
        return self.variables.to_values(columns)

    def write(self, patch: Patch, values: np.ndarray) -> None:
        columns = self.variables.from_values(values)
        where = (slice(None), *patch.slices)
        sizes = tuple(part.stop - part.start for part in patch.slices)
        for i, array in enumerate(self._levels[patch.level]):
            array[where] = columns[:, :, i].reshape(len(columns), *sizes).astype(array.dtype)
        self._done[patch.index] = 1  # after all of it is there

    def done(self, patch: Patch) -> bool:
        try:
            return bool(self._done[patch.index] == 1)
        except (ValueError, OSError, RuntimeError):  # the mark itself was not written to its end
            return False


def create_store(
    path: str | os.PathLike[str],
    template: Any,
    dims: tuple[str, ...],
    layout: Layout,
    variables: Variables,
    num_samples: int,
    dtype: Any,
    record: Mapping[str, Any],
) -> None:
    """Make a store with coordinates, metadata and no values; it is there whole or not at all.

    Args:
        path: Folder of the store; there must be nothing.
        template: Dataset of the coordinates.
        dims: Names of the field's dimensions.
        layout: The patches, which become chunks.
        variables: Names and units of the outputs.
        num_samples: Length of the dimension `sample`.
        dtype: Of the values.
        record: What the request is, as JSON can hold it: `check_record` compares it.
    """
    import zarr

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        template.to_zarr(temporary, mode="w", zarr_format=3, consolidated=False)
        root = zarr.open_group(temporary, mode="r+")
        beside = root.create_group(GROUP, attributes={RECORD: dict(record)})
        count = len(layout.patches)
        marks: dict[str, Any] = {"shape": (count,), "chunks": (1,), "dtype": "uint8"}
        beside.create_array(DONE, **marks, fill_value=0, compressors=None)
        coarse = [(beside, f"{COARSE}_", None)] * (len(layout.levels) - 1)
        parents = [*coarse, (root, "", (SAMPLE, *dims))]
        for level, (group, prefix, names) in zip(layout.levels, parents, strict=True):
            for part in variables.outputs:
                group.create_array(
                    f"{prefix}{part.name}",
                    shape=(num_samples, *level.locations.shape),
                    chunks=(num_samples, *level.chunks),
                    dtype=np.dtype(dtype),
                    fill_value=np.nan,
                    dimension_names=names,
                    attributes=part.attributes,
                )
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def read_record(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Record of the request that began a store.

    Args:
        path: Folder of the store.

    Returns:
        The record; None where there is nothing yet.

    Raises:
        ValueError: If there is something else.
    """
    import zarr

    path = Path(path)
    if not os.path.lexists(path):
        return None
    try:
        record: Any = zarr.open_group(path, mode="r", path=GROUP).attrs[RECORD]
        return dict(record)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"expected no file {path}, or a field that was begun there, got something else"
        ) from error


def check_record(path: str | os.PathLike[str], old: Mapping[str, Any], new: Mapping) -> None:
    """Refuse to go on with a field that was begun by another request.

    Args:
        path: Folder of the store.
        old: Record of the store.
        new: That of the request.

    Raises:
        ValueError: With the names of what differs.
    """
    if changed := differences(old, new):
        listed = "; ".join(changed)
        raise ValueError(f"expected the request that began {path}, got another: {listed}")
