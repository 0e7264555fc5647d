"""Units of columns as words (CF): the same, convertible, or refused.

Durations are the only units that are converted; everything else must be the same words, spelt in
any of the usual ways. An empty string says nothing, and nothing is then checked.
"""

from __future__ import annotations

import re

import numpy as np

from geomndp.geometry.geodesy import EARTH_RADIUS_KM

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
LATITUDE, LONGITUDE = "degrees_north", "degrees_east"

_SPELLINGS = {
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("min", "mins", "minute"),
    "hours": ("h", "hr", "hrs", "hour"),
    "days": ("d", "day"),
    LATITUDE: ("degree_north", "degree_n", "degrees_n", "degreen", "degreesn"),
    LONGITUDE: ("degree_east", "degree_e", "degrees_e", "degreee", "degreese"),
    "radians": ("radian", "rad"),
    "degrees": ("degree", "deg", "°"),
    "m s-1": ("m/s", "m s^-1", "m s**-1", "meters per second", "metres per second"),
    "km h-1": ("km/h", "kmh", "km h^-1"),
    "kelvin": ("K", "degrees_kelvin"),
    "degc": ("°c", "celsius", "degree_celsius", "degrees_celsius", "deg_c"),
    "m": ("meter", "meters", "metre", "metres"),
    "km": ("kilometer", "kilometers", "kilometre", "kilometres"),
    "1": ("dimensionless", "none", "-"),
}
_CANONICAL = {other: name for name, others in _SPELLINGS.items() for other in (name, *others)}


def canonical(units: str) -> str:
    """One spelling for units that mean the same.

    Only known words may be written in capitals: mPa is not MPa, nor S (siemens) s (seconds).
    """
    words = " ".join(units.split())
    known = words if len(words) == 1 else words.lower()
    return _CANONICAL.get(known, words)


def noise_from_km(error):
    """Noise of places on the Earth that are off by `error` km (one standard deviation) each way.

    A variance in square radians: for so short a time the heat kernel is a Gaussian of it.
    """
    noise = (error / EARTH_RADIUS_KM) ** 2
    # xarray keeps the units of the errors.
    return noise.assign_attrs(units="radian2") if hasattr(noise, "assign_attrs") else noise


def powers(units: str) -> dict[str, int]:
    """Exponents of the units in a product of CF: {"m": 2, "seconds": -2} for "m2 s-2"."""
    text = canonical(units)
    if square := re.fullmatch(r"\((.*)\) *(?:\^|\*\*)? *2", text):
        return {unit: 2 * power for unit, power in powers(square[1]).items()}
    found: dict[str, int] = {}
    for over, unit, power in re.findall(r"(/?) *([^\W\d]+|°\w?|%)(?:\^|\*\*)?(-?\d+)?", text):
        unit = canonical(unit)
        found[unit] = found.get(unit, 0) + (-1 if over else 1) * int(power or 1)
    return {unit: power for unit, power in found.items() if power}


def check_variance(name: str, have: str, outputs: list[str], sphere: bool) -> None:
    """Refuse a column of variances in units that are not the square of an output's.

    On the sphere these are radians. Where no output states its units any square will do.
    """
    if not have:
        return
    found = powers(have)
    wanted = ["radians"] if sphere else [units for units in outputs if units]
    squares = [{unit: 2 * power for unit, power in powers(units).items()} for units in wanted]
    if found in squares or (not wanted and all(power % 2 == 0 for power in found.values())):
        return
    expected = " or ".join(f"({canonical(units)})2" for units in dict.fromkeys(wanted))
    hint = "; noise_from_km makes it from errors in km" if sphere else ""
    raise ValueError(
        f"expected variances in {name!r} ({expected or 'the square of some units'}), got units "
        f"{have!r}{hint}"
    )


def split_time(units: str) -> tuple[str, np.datetime64 | None]:
    """Unit and date of "days since 2000-01-01"; no date for "days"; no unit if not of time."""
    unit, _, date = units.partition(" since ")
    unit = canonical(unit)
    if unit not in SECONDS:
        return "", None
    if not date:
        return unit, None
    try:
        return unit, _moment(date)
    except ValueError as error:
        raise ValueError(f"expected a date in the units {units!r}, got {date!r}") from error


def _moment(date: str) -> np.datetime64:
    """Date of CF, whose numbers need no leading zeros: "1900-1-1 0:0:0" or "1900-01-01T00:00Z"."""
    words = date.strip().removesuffix("Z").removesuffix("UTC").split()
    year, dash, rest = "T".join(words).partition("-")
    padded = re.sub(r"(?<![\d.])\d(?!\d)", r"0\g<0>", rest)
    if not year:
        raise ValueError("expected a year")
    return np.datetime64(year.zfill(4) + dash + padded, "us")


def check_same(name: str, have: str, want: str) -> None:
    """Refuse a column in other units than the model's."""
    have, want = canonical(have), canonical(want)
    if not have or not want or have == want:
        return
    # Degrees without a direction are degrees north or east where the model says so.
    if have == "degrees" and want in (LATITUDE, LONGITUDE):
        return
    raise ValueError(f"expected {name!r} in {want!r}, got {have!r}; convert it first")


def duration(name: str, have: str, want: str) -> float:
    """Factor from units of time `have` to `want`; one for the same units or unknown ones."""
    first, second = split_time(have), split_time(want)
    if not have or not want or not first[0] or not second[0] or first[1] != second[1]:
        check_same(name, have, want)
        return 1.0
    return SECONDS[first[0]] / SECONDS[second[0]]
