"""Latitudes and longitudes of tables: which columns, and whether they are degrees."""

from __future__ import annotations

import numpy as np

from geomndp.tables.variables import find_latlon

FEW_LOCATIONS = 3
"""Locations that may be near (0, 0) and look like radians."""


def globe_inputs(names: tuple[str, ...], about: dict[str, dict]) -> tuple[str, ...]:
    """Names of inputs, the latitude and the longitude among them first.

    Args:
        names: All inputs.
        about: Their attributes (CF) by name.

    Raises:
        ValueError: If there is no latitude or no longitude.
    """
    known = {name: about.get(name, {}) for name in names}
    first = tuple(find_latlon(known, index, "inputs") for index in range(2))
    return (*first, *(name for name in names if name not in first))


def check_degrees(
    names: tuple[str, ...], degrees: np.ndarray, stated: list[str], *, few: int = 1
) -> None:
    """Refuse latitudes beyond the poles, wild longitudes, and what looks like radians.

    Args:
        names: Those of the latitude and the longitude.
        degrees: Latitudes and longitudes, shape (n, 2).
        stated: Units that the table states, "" for none.
        few: Fewest rows that can look like radians.

    Raises:
        ValueError: With the first such row.
    """
    lat, lon = names[:2]
    if np.any(np.abs(degrees[:, 0]) > 90):
        row = int(np.argmax(np.abs(degrees[:, 0])))
        raise ValueError(
            f"expected {lat!r} between -90 and 90 degrees, got {degrees[row, 0]:g} in row {row}"
        )
    if np.any(np.abs(degrees[:, 1]) > 360):
        row = int(np.argmax(np.abs(degrees[:, 1])))
        raise ValueError(
            f"expected {lon!r} between -360 and 360 degrees, got {degrees[row, 1]:g} in row {row}"
        )
    small = np.all(np.abs(degrees) <= np.array([np.pi / 2, 2 * np.pi]))
    if len(degrees) >= few and small and not all(stated):
        raise ValueError(
            f"expected {lat!r} and {lon!r} in degrees, got numbers no larger than 2 pi, which look "
            "like radians; state their units if they are degrees"
        )
