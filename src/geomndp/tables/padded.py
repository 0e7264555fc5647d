"""Columns of many functions as padded arrays (b, n), and which of their values are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from geomndp.tables.to_arrays import numeric

LISTED = 5
"""Functions that a sentence names at most."""


class Padded(NamedTuple):
    """Arrays (b, n) by name, with the attributes of CF that the table states.

    Attributes:
        values: The arrays; NaN pads functions with fewer points.
        attributes: What the table says of its columns.
        labels: What functions are called; None where they are only counted.
        zoned: Whether datetimes have a time zone; None where that is not known.
    """

    values: dict[str, np.ndarray]
    attributes: dict[str, dict[str, str]]
    labels: Sequence[Any] | None = None
    zoned: bool | None = None

    def functions(self, wrong: Any) -> str:
        """The functions of a mask (b,) in words."""
        rows = np.flatnonzero(wrong)
        labels = [row if self.labels is None else self.labels[row] for row in rows[:LISTED]]
        names = [repr(label) if isinstance(label, str) else str(label) for label in labels]
        more = "" if len(rows) <= LISTED else f" and {len(rows) - LISTED} others"
        return f"function {', '.join(names)}{more}"

    def numbers(self, name: str) -> np.ndarray:
        """Floats of a column, where only NaN is padding.

        Raises:
            ValueError: If it holds other things, or infinity.
        """
        values = numeric(name, self.values[name])
        if np.any(infinite := np.isinf(values)):
            where = self.functions(infinite.any(axis=1))
            raise ValueError(f"expected finite {name!r} (NaN pads), got infinity in {where}")
        return values

    def mask(
        self,
        known: np.ndarray,
        there: np.ndarray,
        outputs: tuple[str, ...],
        whole: bool,
        drop: bool,
    ) -> np.ndarray:
        """Mask of the points whose inputs are known and whose outputs are there, or of values.

        Args:
            known: Where inputs are known (b, n).
            there: Where outputs are (b, n, p).
            outputs: Names of the outputs.
            whole: Whether a part of the outputs says nothing, as a latitude without a longitude.
            drop: Whether points that lack an output are left out.

        Returns:
            Shape (b, n), or (b, n, p) where some outputs of a point are missing.

        Raises:
            ValueError: If a function has no points, or an output no values.
        """
        partly = known & there.any(axis=2) & ~there.all(axis=2)
        if np.any(partly) and whole and not drop:
            raise ValueError(
                "expected all outputs at a point or none, got a part of them in "
                f"{self.functions(partly.any(axis=1))}; drop_missing=True leaves such points out"
            )
        apart = np.any(partly) and not drop
        mask = known[:, :, None] & there if apart else known & there.all(axis=2)
        rows = np.asarray(mask.any(axis=2)) if apart else mask
        if mask.size == 0 or not np.all(rows.any(axis=1)):
            empty = ~rows.any(axis=1) if mask.size else np.arange(len(mask)) == 0
            raise ValueError(
                f"expected points in every function, got none in {self.functions(empty)}: leave "
                "out functions without known inputs and values"
            )
        if apart and not mask.any(axis=(0, 1)).all():
            never = outputs[int(np.argmin(mask.any(axis=(0, 1))))]
            raise ValueError(f"expected values of {never!r} somewhere, got none")
        return mask


def filled(y: np.ndarray) -> np.ndarray:
    """Values with the mean of an output where it is missing: masked, but of a usual size.

    Args:
        y: Values (b, n, p), NaN where they are missing.
    """
    if not np.isnan(y).any():
        return y
    known = ~np.isnan(y)
    sums = np.where(known, y, 0.0).sum(axis=(0, 1))
    return np.where(known, y, sums / np.maximum(known.sum(axis=(0, 1)), 1))
