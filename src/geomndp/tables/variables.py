"""What the inputs and outputs of a model are called, in which units, and of what kind.

The description travels in the model's file, so that a table can be read by the names of its
columns and written with the same names. Units must be the same words, spelt in any of the usual
ways. An empty string says nothing, and nothing is then checked.
"""

from __future__ import annotations

import equinox as eqx
import numpy as np

from geomndp import _validation
from geomndp.geometry.geodesy import to_latlon, to_unit

CODOMAINS = ("real", "sphere")
LATITUDE, LONGITUDE = "degrees_north", "degrees_east"
LATLON = (("latitude", LATITUDE), ("longitude", LONGITUDE))
"""Standard names and units of the outputs on the sphere."""


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


def check_same(name: str, have: str, want: str) -> None:
    """Refuse a column in other units than the model's."""
    have, want = canonical(have), canonical(want)
    if not have or not want or have == want:
        return
    # Degrees without a direction are degrees north or east where the model says so.
    if have == "degrees" and want in (LATITUDE, LONGITUDE):
        return
    raise ValueError(f"expected {name!r} in {want!r}, got {have!r}; convert it first")


class Variable(eqx.Module):
    """One input or output.

    Args:
        name: Its column or coordinate in tables.
        units: As CF writes them, "" for unknown. Units of time also take datetimes: "days" counts
            from the earliest time of the observations, "days since 2000-01-01" from that date.
        long_name: Name for people.
        standard_name: Name in the CF table.
    """

    name: str = eqx.field(static=True)
    units: str = eqx.field(default="", static=True)
    long_name: str = eqx.field(default="", static=True)
    standard_name: str = eqx.field(default="", static=True)

    def __check_init__(self):
        if self.name in ("", "sample"):
            raise ValueError(f"expected a variable with a name of its own, got {self.name!r}")

    @property
    def attributes(self) -> dict[str, str]:
        """What is known, under the names of CF."""
        named = {key: getattr(self, key) for key in ("units", "long_name", "standard_name")}
        return {key: value for key, value in named.items() if value}


class Variables(eqx.Module):
    """Inputs and outputs of a model in their order.

    Args:
        inputs: Columns of x, covariates last.
        outputs: Columns of y.
        codomain: "real", or "sphere": the outputs are then latitude and longitude in degrees, in
            this order, and the model's values the unit vectors of R^3 there.
        num_covariates: How many of the inputs, the last ones, are covariates: known at every point,
            and not moved by the symmetries of the others.
    """

    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    codomain: str = eqx.field(default="real", static=True)
    num_covariates: int = eqx.field(default=0, static=True)

    def __check_init__(self):
        _validation.one_of("codomain", self.codomain, CODOMAINS)
        if not 0 <= self.num_covariates < max(len(self.inputs), 1):
            got = f"{self.num_covariates} of {len(self.inputs)}"
            raise ValueError(f"expected fewer covariates than columns of x, got {got}")
        names = [variable.name for variable in (*self.inputs, *self.outputs)]
        if not self.inputs or not self.outputs or len(set(names)) < len(names):
            raise ValueError(f"expected inputs and outputs of different names, got {names}")
        if self.codomain == "sphere":
            units = [canonical(variable.units) for variable in self.outputs]
            if units != [part for _, part in LATLON]:
                raise ValueError(
                    f"expected outputs in {LATITUDE} and {LONGITUDE} on the sphere, got {units}"
                )

    @property
    def dim(self) -> int:
        """Columns of the model's y."""
        return 3 if self.codomain == "sphere" else len(self.outputs)

    @property
    def num_inputs(self) -> int:
        """Columns of x before the covariates."""
        return len(self.inputs) - self.num_covariates

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.outputs)

    def to_values(self, columns: np.ndarray) -> np.ndarray:
        """Values (..., p) of a model from the columns of a table."""
        if self.codomain == "real":
            return columns
        return np.asarray(to_unit(columns[..., 0], columns[..., 1]))

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Columns of a table from the values of a model; longitudes in [-180, 180)."""
        if self.codomain == "real":
            return values
        return np.stack(to_latlon(values), axis=-1)


def name_variables(inputs, outputs, codomain: str, units=None) -> Variables:
    """Describe inputs and outputs by their names and, where known, units.

    Args:
        inputs: Name or names of the inputs.
        outputs: Name or names of the outputs; on the sphere latitude and longitude.
        codomain: "real" or "sphere".
        units: Units (CF) by name.

    Returns:
        The description that a model keeps.

    Raises:
        ValueError: If names repeat, or units are of no variable.
    """
    known = dict(units or {})
    names = [as_names("inputs", inputs), as_names("outputs", outputs)]
    if unknown := sorted(set(known) - {*names[0], *names[1]}):
        raise ValueError(f"expected units of inputs and outputs, got them for {unknown}")
    if codomain == "sphere":
        names[1] = as_names("outputs (latitude, longitude)", names[1], 2)
    variables = [[Variable(name, known.get(name, "")) for name in part] for part in names]
    if codomain == "sphere":
        variables[1] = [as_latlon(variable, i) for i, variable in enumerate(variables[1])]
    return Variables(tuple(variables[0]), tuple(variables[1]), codomain)


def as_latlon(output: Variable, index: int) -> Variable:
    """Say that an output is a latitude (0) or a longitude (1) in degrees."""
    name, units = LATLON[index]
    check_same(output.name, output.units, units)
    return Variable(output.name, units, output.long_name, name)


def find_latlon(about: dict[str, dict], index: int) -> str:
    """Name of the latitude (0) or longitude (1) among variables with these attributes."""
    standard, units = LATLON[index]
    for name, attributes in about.items():
        stated = canonical(str(attributes.get("units", "")))
        if attributes.get("standard_name") == standard or stated == units:
            return name
    for name in about:
        if name.lower() in (standard, standard[:3]):
            return name
    raise ValueError(
        f"expected a variable that is the {standard}, got {', '.join(map(repr, about)) or 'none'}"
        "; name outputs=(latitude, longitude)"
    )


def as_names(what: str, names, count: int | None = None) -> tuple[str, ...]:
    """One name, or several; so many if it matters."""
    try:
        as_tuple = (names,) if isinstance(names, str) else tuple(names)
    except TypeError:
        as_tuple = (names,)
    if not all(isinstance(name, str) for name in as_tuple) or not as_tuple:
        raise ValueError(f"expected names of {what}, got {as_tuple}")
    if count is not None and len(as_tuple) != count:
        raise ValueError(f"expected {count} names of {what}, got {as_tuple}")
    return as_tuple


def check_degrees(variables: Variables, degrees: np.ndarray, stated: list[str]) -> None:
    """Refuse latitudes beyond the poles, wild longitudes, and what looks like radians."""
    lat, lon = (name for name in variables.output_names)
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
    if len(degrees) and small and not all(stated):
        raise ValueError(
            f"expected {lat!r} and {lon!r} in degrees, got numbers no larger than 2 pi, which look "
            "like radians; state their units if they are degrees"
        )
