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
"""Cells by which the row of units is known: they start with `degrees`."""


def position_columns(agency: str | None, known) -> tuple[str, str]:
    """Names of the position's columns: IBTrACS' own, or those of one agency."""
    if agency is None:
        return "LAT", "LON"
    lat, lon = f"{agency.upper()}_LAT", f"{agency.upper()}_LON"
    if lat in known and lon in known:
        return lat, lon
    agencies = sorted(name.removesuffix("_LAT").lower() for name in known if name.endswith("_LAT"))
    listed = ", ".join(agencies) or "none"
    raise ValueError(f"expected an agency with positions in the file ({listed}), got {agency!r}")


def wanted_columns(known, position: tuple[str, str], extra, where: str) -> list[str]:
    """Columns to read of those a file has; refuses a file without the required ones."""
    missing = [name for name in (*REQUIRED, *extra) if name not in known]
    if missing:
        raise ValueError(f"expected columns {', '.join(missing)} in {where}, which lacks them")
    names = (*REQUIRED, *OPTIONAL, *position, *extra)
    return [name for name in dict.fromkeys(names) if name in known]
