"""Tables in, tables out: pandas and xarray at the edges, arrays inside."""

from geomndp.tables.columns import is_table
from geomndp.tables.functions import Functions, read_functions
from geomndp.tables.guess import place_names
from geomndp.tables.rows import (
    Rows,
    read_inputs,
    read_observations,
    read_origin,
    read_rows,
    write_samples,
)
from geomndp.tables.units import noise_from_km
from geomndp.tables.variables import CODOMAINS, Variable, Variables, name_variables

__all__ = [
    "CODOMAINS",
    "Functions",
    "Rows",
    "Variable",
    "Variables",
    "is_table",
    "name_variables",
    "noise_from_km",
    "place_names",
    "read_functions",
    "read_inputs",
    "read_observations",
    "read_origin",
    "read_rows",
    "write_samples",
]
