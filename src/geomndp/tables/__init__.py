"""Tables in, tables out: pandas and xarray at the edges, arrays inside."""

from geomndp._deprecated import deprecated_names
from geomndp._validation import is_table
from geomndp.tables.functions import Functions, read_functions
from geomndp.tables.groups import read_groups
from geomndp.tables.to_arrays import (
    Rows,
    latlon_names,
    read_inputs,
    read_observations,
    read_rows,
    write_samples,
)
from geomndp.tables.units import noise_from_km, read_time_origin
from geomndp.tables.value_tables import write_quantiles, write_values
from geomndp.tables.variables import (
    CODOMAINS,
    Variable,
    Variables,
    name_variables,
)

__all__ = [
    "CODOMAINS",
    "Functions",
    "Rows",
    "Variable",
    "Variables",
    "is_table",
    "latlon_names",
    "name_variables",
    "noise_from_km",
    "read_functions",
    "read_groups",
    "read_inputs",
    "read_observations",
    "read_rows",
    "read_time_origin",
    "write_quantiles",
    "write_samples",
    "write_values",
]

deprecated_names(__name__, {"place_names": "latlon_names", "read_origin": "read_time_origin"})
