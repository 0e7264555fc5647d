"""Where the archive lies: a path, a folder named by the environment, or NOAA's server."""

from __future__ import annotations

import os
from pathlib import Path

from geomndp import _atomic_io, _validation

VARIABLE = "GEOMNDP_IBTRACS"
VERSION = "v04r01"
SERVER = (
    "https://www.ncei.noaa.gov/data/"
    f"international-best-track-archive-for-climate-stewardship-ibtracs/{VERSION}/access"
)
SUBSETS = ("ALL", "ACTIVE", "EP", "NA", "NI", "SA", "SI", "SP", "WP", "last3years", "since1980")
LAYOUTS = ("csv", "netcdf")
# Several files of one line belong together.
_WHOLE_ARCHIVES = (
    (f"ibtracs.ALL.list.{VERSION}.csv",),
    (f"ibtracs.ALL.list.{VERSION}.csv.gz",),
    (f"IBTrACS.ALL.{VERSION}.nc",),
    ("ibtracs_tracks.csv.gz", "jtwc_south_indian_1945_1979.csv.gz"),
)


def locate(path: str | os.PathLike | None = None) -> tuple[Path, ...]:
    """Files to read: `path` itself, or the archive in the folder `path` or $GEOMNDP_IBTRACS."""
    if path is None:
        path = os.environ.get(VARIABLE)
        if not path:
            raise ValueError(f"expected a path to IBTrACS or the variable {VARIABLE}, got none")
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"expected an IBTrACS file or folder, got {path}: no such path")
    if path.is_file():
        return (path,)
    for names in _WHOLE_ARCHIVES:
        if (path / names[0]).is_file():
            return tuple(path / name for name in names if (path / name).is_file())
    known = ", ".join(names[0] for names in _WHOLE_ARCHIVES)
    raise FileNotFoundError(f"expected one of {known} in the folder {path}, got none of them")


def address(subset: str = "ALL", layout: str = "csv") -> str:
    """NOAA's address of a file."""
    _validation.one_of("subset", subset, SUBSETS)
    _validation.one_of("layout", layout, LAYOUTS)
    if layout == "csv":
        return f"{SERVER}/csv/ibtracs.{subset}.list.{VERSION}.csv"
    return f"{SERVER}/netcdf/IBTrACS.{subset}.{VERSION}.nc"


def fetch(
    subset: str = "ALL",
    layout: str = "csv",
    *,
    folder: str | os.PathLike | None = None,
    refresh: bool = False,
    downloader=None,
) -> Path:
    """Download a file from NOAA with pooch, once; return where it lies.

    NOAA rewrites these files several times a week and publishes no checksums, so that none can be
    fixed here. The sha256 of what was fetched is written beside the file, `NAME.sha256`, and the
    file is verified by it whenever it is used again; `refresh` fetches the present version.
    `folder` is the user's cache if not given, `downloader` one of pooch's.
    """
    import pooch

    url = address(subset, layout)
    target = Path(folder or pooch.os_cache("geomndp")) / url.rsplit("/", 1)[1]
    record = target.with_name(target.name + ".sha256")
    if not refresh and target.is_file() and record.is_file():
        expected, digest = record.read_text(encoding="ascii").strip(), pooch.file_hash(str(target))
        if digest != expected:
            raise ValueError(
                f"expected sha256 {expected} of {target}, as recorded when it was fetched, "
                f"got {digest}: the file has changed; fetch it again with refresh=True"
            )
        return target
    # Without its record a file may be anything: fetch it again.
    record.unlink(missing_ok=True)
    target.unlink(missing_ok=True)
    pooch.retrieve(url, None, fname=target.name, path=target.parent, downloader=downloader)
    _atomic_io.write(record, pooch.file_hash(str(target)) + "\n")
    return target
