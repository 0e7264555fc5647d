"""Small archives in NOAA's layouts, written by the tests that read them."""

import numpy as np

NAMES = ("SID", "SEASON", "NUMBER", "BASIN", "NAME", "ISO_TIME", "NATURE", "LAT", "LON")
NAMES += ("WMO_WIND", "TRACK_TYPE", "USA_LAT", "USA_LON", "STORM_DIR")
UNITS = (" ", "Year", " ", " ", " ", " ", " ", "degrees_north", "degrees_east")
UNITS += ("kts", " ", "degrees_north", "degrees_east", "degrees")


def times(count, step=3):
    start = np.datetime64("2001-12-30T06:00:00", "s")
    return start + np.arange(count) * np.timedelta64(step, "h")


def storm(sid="2001364N10175", *, lat=None, lon=None, count=60, step=3, track="main"):
    """Rows of one storm as they stand in a CSV file."""
    lat = 10 + 0.1 * np.arange(count) if lat is None else lat
    lon = 140 + 0.2 * np.arange(count) if lon is None else lon
    rows = []
    for time, north, east in zip(times(count, step), lat, lon, strict=True):
        stamp = str(time).replace("T", " ")
        place = [f"{north:.4f}", f"{east:.4f}"]
        rows.append([sid, "2001", "7", "NA", "NOT_NAMED", stamp, "TS", *place])
        rows[-1] += ["35", track, " ", " ", "90"]
    return rows


def write_csv(path, rows, *, names=NAMES, units=UNITS, end="\n"):
    lines = [",".join(row) for row in (names, units, *rows)]
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    return path


def write_netcdf(path, storms, drop=()):
    """(storm, date_time) arrays of characters and numbers, as NOAA's files have them."""
    import xarray as xr

    longest = max(map(len, storms)) + 2
    text, number = {}, {}
    for column, width in (("BASIN", 2), ("ISO_TIME", 19), ("NATURE", 2)):
        cells = np.full((len(storms), longest), b"", dtype=f"S{width}")
        for i, rows in enumerate(storms):
            cells[i, : len(rows)] = [row[NAMES.index(column)].encode() for row in rows]
        text[column.lower()] = (("storm", "date_time"), cells)
    for column in ("LAT", "LON", "WMO_WIND", "USA_LAT", "USA_LON"):
        values = np.full((len(storms), longest), np.nan, dtype=np.float32)
        for i, rows in enumerate(storms):
            values[i, : len(rows)] = [
                float(row[NAMES.index(column)].strip() or "nan") for row in rows
            ]
        number[column.lower()] = (("storm", "date_time"), values)
    for column, width in (("SID", 13), ("NAME", 128), ("TRACK_TYPE", 11)):
        cells = [rows[0][NAMES.index(column)].encode() for rows in storms]
        text[column.lower()] = ("storm", np.array(cells, dtype=f"S{width}"))
    number["season"] = ("storm", np.array([float(rows[0][1]) for rows in storms], np.float32))
    number["numobs"] = ("storm", np.array(list(map(len, storms)), np.float32))
    variables = {name: value for name, value in {**text, **number}.items() if name not in drop}
    encoding = {name: {"dtype": "S1"} for name in text if name in variables}
    fill = {"_FillValue": np.float32(-9999), "zlib": True}
    encoding |= {name: fill for name in number if name in variables}
    xr.Dataset(variables).to_netcdf(path, engine="h5netcdf", encoding=encoding)
    return path
