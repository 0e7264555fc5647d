"""All summaries of a table of samples in one table, ready for a file."""

from __future__ import annotations

from typing import Any

from geomndp.summaries.moments import Estimate, mean, quantiles, standard_deviation
from geomndp.summaries.samples import has_latlon, unpack
from geomndp.summaries.tracks import track_mean, track_spread
from geomndp.tables import is_table, latlon_names
from geomndp.tables.pandas_adapter import is_frame
from geomndp.tables.xarray_adapter import as_dataset


def describe(samples: Any, levels: tuple[float, ...] = (0.05, 0.5, 0.95)) -> Any:
    """Mean, standard deviation and quantiles of every output in one table, with their errors.

    Args:
        samples: Samples as a Dataset, or a tidy DataFrame.
        levels: Probability levels of the quantiles.

    Returns:
        A table with the columns `<name>_mean`, `<name>_mean_error`, `<name>_sd`, ...,
        `<name>_q05`, ... For a latitude and a longitude: the mean location, its `error`, the
        `spread` and its error, in km.

    Raises:
        ValueError: If the samples are arrays.

    Example:
        `summaries.describe(model.condition(fixes).sample(times, key=0))`
    """
    if not is_table(samples):
        raise ValueError("expected samples as a Dataset or DataFrame to describe, got arrays")
    samples = samples if is_frame(samples) else as_dataset(samples)
    columns: list[tuple[Any, str]] = []
    if has_latlon(samples):
        centre, spread = track_mean(samples), track_spread(samples)
        columns = [(centre.value, ""), (centre.error, ""), (spread.value, "")]
        columns += [(spread.error, "_error")]
        if set(unpack(samples).values) == set(latlon_names(samples)):
            return _joined(samples, columns)
    estimates = {"mean": mean(samples), "sd": standard_deviation(samples)}
    for level in levels:
        estimates[_level_name(level)] = quantiles(samples, level)
    columns += [part for name, estimate in estimates.items() for part in _named(name, estimate)]
    return _joined(samples, columns)


def _level_name(level: float) -> str:
    """The level in percent with all its digits: q05, q02.5, q99.95."""
    whole, point, digits = f"{100 * level:.10g}".partition(".")
    return f"q{whole:0>2}{point}{digits}"


def _named(name: str, estimate: Estimate) -> list[tuple[Any, str]]:
    return [(estimate.value, f"_{name}"), (estimate.error, f"_{name}_error")]


def _joined(samples: Any, columns: list[tuple[Any, str]]) -> Any:
    """Columns of several tables with endings to their names; those of the locations come once."""
    outputs, first = unpack(samples).values, columns[0][0]
    if not is_frame(first):
        result = first.drop_vars(list(first.data_vars))
        for part, ending in columns:
            for name, array in part.data_vars.items():
                result[f"{name}{ending}"] = array
        return result
    locations = [name for name in first if name in samples and name not in outputs]
    result, units = first[locations].copy(), {}
    for part, ending in columns:
        for name in (name for name in part if name not in locations):
            result[f"{name}{ending}"] = part[name]
            units[f"{name}{ending}"] = part.attrs["units"].get(name, "")
    known = {name: first.attrs["units"].get(name, "") for name in locations} | units
    result.attrs["units"] = {name: unit for name, unit in known.items() if unit}
    return result
