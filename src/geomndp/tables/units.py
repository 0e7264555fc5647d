"""Units (CF) that mean numbers: times, the only ones that are converted, and squares of others.

Nanoseconds in 64 bits span 292 years either way and wrap silently beyond, also where NumPy takes
the difference of two moments in different units. Moments are therefore compared in whole seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from geomndp._time_zones import check_together
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.tables.variables import Variables, canonical, check_same

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}


def noise_from_km(error):
    """Noise variance of locations on the Earth, for `condition(..., noise=...)`.

    Args:
        error: Standard deviation in km of a location each way, a number or a column.

    Returns:
        A variance in square radians: for so short a time the heat kernel is a Gaussian of it.

    Example:
        `model.condition(fixes, noise=noise_from_km(20.0))`
    """
    noise = (error / EARTH_RADIUS_KM) ** 2
    # xarray keeps the units of the errors.
    return noise.assign_attrs(units="radian2") if hasattr(noise, "assign_attrs") else noise


def powers(units: str) -> dict[str, int]:
    """Exponents of the units in a product of CF: {"m": 2, "seconds": -2} for "m2 s-2"."""
    text = canonical(units)
    if square := re.fullmatch(r"\((.*)\) *(?:\^|\*\*)? *2", text):
        return {unit: 2 * power for unit, power in powers(square[1]).items()}
    exponents: dict[str, int] = {}
    for over, unit, power in re.findall(r"(/?) *([^\W\d]+|°\w?|%)(?:\^|\*\*)?(-?\d+)?", text):
        unit = canonical(unit)
        exponents[unit] = exponents.get(unit, 0) + (-1 if over else 1) * int(power or 1)
    return {unit: power for unit, power in exponents.items() if power}


def check_variance(name: str, have: str, outputs: list[str], sphere: bool) -> None:
    """Refuse a column of variances in units that are not the square of every output's.

    One column is the variance of all outputs. On the sphere these are radians. Where no output
    states its units any square will do.
    """
    if not have:
        return
    exponents = powers(have)
    wanted = ["radians"] if sphere else [units for units in outputs if units]
    squares = [{unit: 2 * power for unit, power in powers(units).items()} for units in wanted]
    even = all(power % 2 == 0 for power in exponents.values())
    if all(exponents == square for square in squares) and (wanted or even):
        return
    expected = " and ".join(f"({canonical(units)})2" for units in dict.fromkeys(wanted))
    hint = "; noise_from_km makes it from errors in km" if sphere else ""
    raise ValueError(
        f"expected variances in {name!r} ({expected or 'the square of some units'}), got units "
        f"{have!r}{hint}"
    )


def check_deviation(name: str, have: str, outputs: list[str], sphere: bool) -> None:
    """Refuse a column of standard deviations in other units than the outputs'; km on the sphere.

    Args:
        name: Name of the column.
        have: Its units, "" where it states none.
        outputs: Units of the outputs, "" where they state none.
        sphere: Whether outputs are locations on the Earth.

    Raises:
        ValueError: If the units are known to be others.
    """
    wanted = ["km"] if sphere else [units for units in outputs if units]
    if have and any(_differences(have) != _differences(units) for units in wanted):
        expected = " and ".join(dict.fromkeys(wanted))
        raise ValueError(
            f"expected standard deviations in {name!r} in {expected}, got units {have!r}"
        )


def _differences(units: str) -> dict[str, int]:
    """Exponents of the units of a difference: one of degrees Celsius is one of kelvins."""
    return {"kelvin" if unit == "degc" else unit: power for unit, power in powers(units).items()}


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


def duration(name: str, have: str, want: str) -> float:
    """Factor from units of time `have` to `want`; one for the same units or unknown ones."""
    first, second = split_time(have), split_time(want)
    if not have or not want or not first[0] or not second[0] or first[1] != second[1]:
        check_same(name, have, want)
        return 1.0
    return SECONDS[first[0]] / SECONDS[second[0]]


PLAIN = re.compile(r"\d{4}-\d\d(?:-\d\d(?:[T ][\d:.]+)?)?$")
"""ISO 8601 as NumPy reads it to any digit; it would take 20240830 for a year."""


def seconds(gaps: np.ndarray) -> np.ndarray:
    """Durations as floats; NaN where they are missing."""
    return np.asarray(gaps / np.timedelta64(1, "s"))


def seconds_since(values: np.ndarray, start: np.ndarray | np.datetime64) -> np.ndarray:
    """Datetimes as seconds after `start`, in any units and centuries; NaN where missing."""
    whole_seconds = values.astype("datetime64[s]") - start.astype("datetime64[s]")
    return seconds(whole_seconds) + _fraction(values) - _fraction(start)


def _fraction(values: np.ndarray | np.datetime64) -> np.ndarray:
    """Part of a second by which datetimes exceed whole ones."""
    return seconds(np.asarray(values - values.astype("datetime64[s]")))


def as_moment(time_origin: Any) -> str:
    """Write a datetime of any kind as a text (ISO 8601), in UTC if it has a zone."""
    origin: Any = time_origin
    try:
        if isinstance(time_origin, str) and not PLAIN.match(time_origin):
            origin = datetime.fromisoformat(time_origin)
        if getattr(origin, "tzinfo", None) is not None:
            origin = origin.astimezone(UTC).replace(tzinfo=None)
        moment = np.datetime64(origin) if not isinstance(origin, (int, float)) else None
    except (TypeError, ValueError):
        moment = None
    if moment is None or np.isnat(moment):
        raise ValueError(f"expected time_origin to be a datetime, got {time_origin!r}")
    return str(moment)


def read_time_origin(variables: Variables | None, time_origin: Any) -> str:
    """Date from which the datetimes of a model's inputs count, as a text (ISO 8601).

    Args:
        variables: The model's.
        time_origin: A datetime, or its text in ISO 8601.
    """
    times = [split_time(part.units) for part in ([] if variables is None else variables.inputs)]
    if not any(unit and date is None for unit, date in times):
        raise ValueError(
            "expected an input in days, hours, ... that count from no date of their own, to count "
            f"from time_origin={time_origin!r}, got none"
        )
    return as_moment(time_origin)


def per_function(
    values: np.ndarray, elapsed: bool, zoned: bool | None = None
) -> tuple[np.ndarray, str]:
    """Times (b, n) of functions as numbers, and the unit that suits the longest function.

    Datetimes count from the earliest of their function if `elapsed`, else from that of all, whose
    zone the unit then states if they have one.
    """
    if np.all(np.isnat(values)):
        raise ValueError("expected times, got none that is known")
    first = _earliest(values)
    moments = values.dtype.kind == "M"
    gaps = seconds_since(values, first) if moments else seconds(values - first)
    longest = np.nanmax(gaps)
    unit = next((u for u in ("days", "hours", "minutes") if longest > 2 * SECONDS[u]), "seconds")
    if not moments:
        return seconds(values) / SECONDS[unit], unit
    if elapsed:
        return gaps / SECONDS[unit], unit
    start = np.nanmin(values).astype("datetime64[s]")
    date = str(start).replace("T", " ")
    zone = " UTC" if zoned else ""
    return seconds_since(values, start) / SECONDS[unit], f"{unit} since {date}{zone}"


def check_zone(name: str, units: str, zoned: bool | None) -> None:
    """Refuse datetimes without a zone where those of the training, by its units, had one.

    Args:
        name: Name of the input.
        units: Its units, which end in "UTC" if it had.
        zoned: Whether the datetimes have a zone; None where that is not known.

    Raises:
        ValueError: If they have none and should.
    """
    if has_zone(units):
        check_together(repr(name), zoned, "the training data", True)


def has_zone(units: str) -> bool:
    """Whether units of times count from a moment with a zone, as a training on such has them."""
    return units.endswith(("UTC", "Z"))


def _earliest(values: np.ndarray) -> np.ndarray:
    """First known time of every function; one without any keeps none."""
    latest = np.array(np.iinfo(np.int64).max).astype(values.dtype)
    first = np.min(np.where(np.isnat(values), latest, values), axis=1, keepdims=True)
    return np.where(first == latest, np.array("NaT", values.dtype), first)
