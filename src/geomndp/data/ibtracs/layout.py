"""What the columns of an IBTrACS file are called, and which of them are read.

Columns are named as in NOAA's CSV files; its NetCDF files use the same names in lower case.
Column documentation: https://www.ncei.noaa.gov/products/international-best-track-archive
"""

from __future__ import annotations

REQUIRED = ("SID", "SEASON", "BASIN", "ISO_TIME", "LAT", "LON", "TRACK_TYPE")
"""Without these a file is refused."""
OPTIONAL = (
    "NUMBER",
    "SUBBASIN",
    "NAME",
    "NATURE",
    "WMO_WIND",
    "WMO_PRES",
    "IFLAG",
    "USA_WIND",
    "SOURCE",
)
"""Read where a file has them."""
NUMBERS = frozenset({"SEASON", "NUMBER", "WMO_WIND", "WMO_PRES", "USA_WIND"})
"""Cells that must be numbers; latitude, longitude and time are treated apart."""
UNITS = frozenset({"LAT", "LON"})
"""Cells that identify the row of units: they start with `degrees`."""


def position_columns(agency: str | None, columns) -> tuple[str, str]:
    """Names of the latitude and longitude columns.

    Args:
        agency: An agency such as "usa"; None for IBTrACS' own positions.
        columns: Columns of the file.

    Returns:
        Names of the two columns.

    Raises:
        ValueError: If the file has no positions of the agency.
    """
    if agency is None:
        return "LAT", "LON"
    lat, lon = f"{agency.upper()}_LAT", f"{agency.upper()}_LON"
    if lat in columns and lon in columns:
        return lat, lon
    agencies = sorted(
        name.removesuffix("_LAT").lower() for name in columns if name.endswith("_LAT")
    )
    listed = ", ".join(agencies) or "none"
    raise ValueError(f"expected an agency with positions in the file ({listed}), got {agency!r}")


def wanted_columns(columns, position: tuple[str, str], extra, where: str) -> list[str]:
    """Columns to read of a file.

    Args:
        columns: Columns of the file.
        position: Those of latitude and longitude.
        extra: Further ones to read.
        where: Name of the file, for messages.

    Returns:
        Required, optional and extra columns that the file has.

    Raises:
        ValueError: If a required or extra column is missing.
    """
    missing = [name for name in (*REQUIRED, *extra) if name not in columns]
    if missing:
        raise ValueError(f"expected columns {', '.join(missing)} in {where}, which lacks them")
    names = (*REQUIRED, *OPTIONAL, *position, *extra)
    return [name for name in dict.fromkeys(names) if name in columns]
