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
    """Files of the archive.

    Args:
        path: A file, or a folder with an archive; by default $GEOMNDP_IBTRACS.

    Returns:
        Files to read together.

    Raises:
        ValueError: If neither path nor variable is given.
        FileNotFoundError: If there is no archive.
    """
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
    listed = ", ".join(names[0] for names in _WHOLE_ARCHIVES)
    raise FileNotFoundError(f"expected one of {listed} in the folder {path}, got none of them")


def address(subset: str = "ALL", layout: str = "csv") -> str:
    """NOAA's address of a file.

    Args:
        subset: One of `SUBSETS`: "ALL", a basin, or recent years.
        layout: "csv" or "netcdf".

    Returns:
        The address.

    Raises:
        ValueError: If there is no such subset or layout.
    """
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
    file is verified by it whenever it is used again.

    Args:
        subset: One of `SUBSETS`: "ALL", a basin, or recent years.
        layout: "csv" or "netcdf".
        folder: Where to put it, by default the user's cache.
        refresh: Whether to fetch the present version in any case.
        downloader: One of pooch's downloaders.

    Returns:
        Path of the file.

    Raises:
        ValueError: If the file on disk has changed since it was fetched.
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
