"""What the inputs and outputs of a model are called, in which units, and of what kind.

The description travels in the model's file, so that a table can be read by the names of its
columns and written with the same names. Units must be the same words, spelt in any of the usual
ways. An empty string says nothing, and nothing is then checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import numpy as np

from geomndp import _validation
from geomndp.geometry.geodesy import to_latlon, to_unit

CODOMAINS = ("real", "sphere")
LATITUDE, LONGITUDE = "degrees_north", "degrees_east"
LATLON = (("latitude", LATITUDE), ("longitude", LONGITUDE))
"""Standard names and units of outputs, or inputs, on the sphere."""
DOMAINS = ("real", "sphere")


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
        domain: "real", or "sphere": the first two inputs are then latitude and longitude in
            degrees, and the first three columns of x the unit vectors of R^3 there.
    """

    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    codomain: str = eqx.field(default="real", static=True)
    num_covariates: int = eqx.field(default=0, static=True)
    domain: str = eqx.field(default="real", static=True)

    def __check_init__(self):
        _validation.one_of("codomain", self.codomain, CODOMAINS)
        _validation.one_of("domain", self.domain, DOMAINS)
        if not 0 <= self.num_covariates < max(len(self.inputs), 1):
            got = f"{self.num_covariates} of {len(self.inputs)}"
            raise ValueError(f"expected fewer covariates than columns of x, got {got}")
        names = [variable.name for variable in (*self.inputs, *self.outputs)]
        if not self.inputs or not self.outputs or len(set(names)) < len(names):
            raise ValueError(f"expected inputs and outputs of different names, got {names}")
        if self.codomain == "sphere":
            _check_latlon("outputs", self.outputs)
        if self.domain == "sphere":
            _check_latlon("first inputs", self.inputs[: self.num_inputs][:2])

    @property
    def dim(self) -> int:
        """Columns of the model's y."""
        return 3 if self.codomain == "sphere" else len(self.outputs)

    @property
    def num_inputs(self) -> int:
        """Inputs before the covariates."""
        return len(self.inputs) - self.num_covariates

    @property
    def input_dim(self) -> int:
        """Columns of the model's x: one more than inputs on the sphere."""
        return len(self.inputs) + (self.domain == "sphere")

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.outputs)

    def to_inputs(self, columns: np.ndarray) -> np.ndarray:
        """Inputs (..., d) of a model from the columns of a table.

        A point at a pole keeps the direction of its longitude, in which its components are.
        """
        if self.domain == "real":
            return columns
        vectors = np.asarray(to_unit(columns[..., 0], columns[..., 1]))
        return np.concatenate([vectors, columns[..., 2:]], axis=-1)

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


def _check_latlon(what: str, part: tuple[Variable, ...]) -> None:
    """Refuse variables that are not a latitude and a longitude in degrees."""
    units = [canonical(variable.units) for variable in part]
    if units != [stated for _, stated in LATLON]:
        raise ValueError(
            f"expected {what} in {LATITUDE} and {LONGITUDE} on the sphere, got {units}"
        )


def name_variables(inputs, outputs, codomain: str, units=None, domain: str = "real") -> Variables:
    """Describe inputs and outputs by their names and, where known, units.

    Args:
        inputs: Name or names of the inputs.
        outputs: Name or names of the outputs; on the sphere latitude and longitude.
        codomain: "real" or "sphere".
        units: Units (CF) by name.
        domain: "real", or "sphere", where the first inputs are latitude and longitude.

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
        variables[1] = as_latlon(variables[1])
    if domain == "sphere":
        variables[0] = as_latlon(variables[0])
    return Variables(tuple(variables[0]), tuple(variables[1]), codomain, domain=domain)


def as_latlon(variables: Sequence[Variable]) -> list[Variable]:
    """Say that the first two variables are a latitude and a longitude in degrees."""
    described = []
    for variable, (name, units) in zip(variables, LATLON, strict=False):
        check_same(variable.name, variable.units, units)
        described.append(Variable(variable.name, units, variable.long_name, name))
    return [*described, *variables[2:]]


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


def find_latlon(about: dict[str, dict], index: int, what: str = "outputs") -> str:
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
        f"; name {what}=(latitude, longitude)"
    )
