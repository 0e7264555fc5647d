"""Ten fixes of a storm in a CSV to 100 sampled tracks in GeoJSON.

The storm is synthetic: it moves north-west towards the date line from the east, with a fix
every six hours of standard error 20 km. The tracks are forecast for three days.

    python examples/storm_to_tracks.py --out out/storm
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import tyro

from geomndp.cli import main
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_unit

MODEL = "cyclones/ibtracs"
FIXES = Path(__file__).parent / "data" / "storm.csv"
"""Columns ISO_TIME, LAT, LON, as agencies call them."""


def walk(
    out: Path = Path("out/storm"),
    num_samples: int = 100,
    steps: int = 50,
    at: str = "2031-09-12T00/2031-09-17T06/3h",
) -> list[dict]:
    """Return the features of the file, one per track."""
    path = out / "tracks.geojson"
    command = ["condition", MODEL, str(FIXES), "--columns", "time=ISO_TIME", "lat=LAT", "lon=LON"]
    command += ["--obs-std", "20", "--targets", at, "--num-samples", str(num_samples)]
    command += ["--steps", str(steps), "--seed", "1", "--out", str(path)]
    print("geomndp", *command)
    if code := main(command):
        raise SystemExit(code)

    tracks = json.loads(path.read_text(encoding="utf-8"))["features"]
    crossing = [track["geometry"]["type"] == "MultiLineString" for track in tracks]
    print(f"{np.mean(crossing):.0%} of {len(tracks)} tracks cross the date line")
    lon, lat = np.array([last_position(track) for track in tracks]).T
    ends = to_unit(lat, lon)
    middle = np.mean(ends, axis=0)
    angle = np.arccos(np.clip(ends @ middle / np.linalg.norm(middle), -1, 1))
    print(f"last fixes lie {np.median(angle) * EARTH_RADIUS_KM:.0f} km from the mean (median)")
    return tracks


def last_position(track: dict) -> list[float]:
    """Longitude and latitude of the end of a line, cut or not."""
    line = track["geometry"]["coordinates"]
    return line[-1][-1] if track["geometry"]["type"] == "MultiLineString" else line[-1]


if __name__ == "__main__":
    tyro.cli(walk)
