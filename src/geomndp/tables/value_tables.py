"""Values and quantiles as tables, at the locations of another table."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp.tables.pandas_adapter import is_frame
from geomndp.tables.to_arrays import write_samples
from geomndp.tables.variables import Variables
from geomndp.tables.xarray_adapter import SAMPLE

QUANTILE = "quantile"


def write_values(variables: Variables, table: Any, y: Any) -> Any:
    """One value per output and location as a table of the type of another.

    Args:
        variables: Names and units of inputs and outputs.
        table: A DataFrame or Dataset with the locations.
        y: Values (n, p).

    Returns:
        A DataFrame, one row per location, with the index of the table, where inputs that it names
        stay, or a Dataset over the locations.
    """
    samples = write_samples(variables, table, np.asarray(y)[None])
    if is_frame(samples):
        # A column is then assigned to the rows that it belongs to; pandas wants a name once.
        levels = [name for name in variables.input_names if name in table.index.names]
        return samples.drop(columns=[SAMPLE, *levels]).set_axis(table.index, axis=0)
    return samples.isel({SAMPLE: 0}, drop=True)


def write_quantiles(variables: Variables, table: Any, levels: Any, y: Any) -> Any:
    """Quantiles as a table of the type of another.

    Args:
        variables: Names and units of inputs and outputs.
        table: A DataFrame or Dataset with the locations.
        levels: Probability levels, shape (q,).
        y: Quantiles (q, n, p).

    Returns:
        A tidy DataFrame with a column `quantile`, or a Dataset with such a dimension.
    """
    levels = np.asarray(levels, float)
    samples = write_samples(variables, table, np.asarray(y))
    if is_frame(samples):
        column = levels[samples[SAMPLE].to_numpy()]
        return samples.drop(columns=SAMPLE).assign(**{QUANTILE: column})
    axis = (QUANTILE, levels, {"long_name": "probability level"})
    return samples.drop_vars(SAMPLE).rename_dims({SAMPLE: QUANTILE}).assign_coords({QUANTILE: axis})
