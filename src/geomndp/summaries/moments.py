r"""Mean, standard deviation, quantiles, probabilities and functionals, each with its error.

Errors are the standard errors of a finite number of independent samples. A latitude and a
longitude in a table are left out by all but `probability` and `functional`: see `track_mean`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc

from geomndp._arrays import keep_float64
from geomndp.summaries.samples import SAMPLE, Unpacked, frame_order, unpack, unpack_real
from geomndp.tables import is_table
from geomndp.tables.pandas_adapter import is_frame, is_series


class Estimate(NamedTuple):
    """A summary and its Monte Carlo standard error, both in the form of the samples."""

    value: Any
    error: Any


def mean(samples: Any) -> Estimate:
    """Mean over the samples.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`. They may be times.

    Returns:
        The mean in the form of the samples, and its standard error sd / sqrt(s).

    Example:
        `value, error = summaries.mean(posterior.sample(x, key=0))`
    """
    return _each(samples, lambda v: (v.mean(axis=0), v.std(axis=0, ddof=1) / np.sqrt(len(v))))


def standard_deviation(samples: Any) -> Estimate:
    r"""Standard deviation over the samples.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`.

    Returns:
        The deviation $\sigma$ and its standard error, that of $\sigma^2$ being the root of
        $(m_4 - \frac{s-3}{s-1} \sigma^4) / s$ with the fourth central moment $m_4$.
    """
    return _each(samples, _deviation, times=False)


def quantiles(samples: Any, levels: float | Iterable[float] = (0.05, 0.5, 0.95)) -> Estimate:
    """Quantiles over the samples.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`. They may be times.
        levels: Probability levels between 0 and 1, one or several.

    Returns:
        Quantiles along a first axis (dimension `quantile`), without that axis for a single level,
        and their standard errors: those of the bootstrap with infinitely many resamples (Maritz and
        Jarrett 1978).

    Raises:
        ValueError: If a level is not between 0 and 1.

    Example:
        `summaries.quantiles(samples, (0.05, 0.95)).value`
    """
    if isinstance(levels, (int, float)):
        return _each(samples, lambda v: _quantile(v, _level(levels)))
    try:
        several = [float(level) for level in levels]
    except (TypeError, ValueError):
        raise ValueError(f"expected levels between 0 and 1, got {levels!r}") from None
    estimates = [(level, quantiles(samples, level)) for level in several]
    if not estimates:
        raise ValueError("expected at least one level, got none")
    return Estimate(*(_stack(estimates, index) for index in range(2)))


def probability(samples: Any, event: Callable[[Any], Any]) -> Estimate:
    """Probability of an event, at every location or once per sample.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`.
        event: Function of all samples at once that gives true or false, per location or per
            sample.

    Returns:
        The share of samples in which it happened, and its standard error: the standard deviation of
        the share under a flat prior, never zero.

    Raises:
        ValueError: If the event is not true or false.

    Example:
        `summaries.probability(tracks, lambda ds: (ds.wind > 33).any("time"))`
    """
    with _precision(samples):
        happened = event(samples)
    unpacked = _rows(samples, happened) if is_series(happened) else unpack(happened)
    for values in unpacked.values.values():
        if values.dtype.kind != "b":
            raise ValueError(f"expected an event that is true or false, got {values.dtype}")
    shares = {name: _share(values) for name, values in unpacked.values.items()}
    return _pair(unpacked, shares, units="1", long_name="probability", standard_name="")


def _precision(samples: Any) -> AbstractContextManager[Any]:
    """Context in which functions of samples that are float64 are so, whatever JAX's mode."""
    return keep_float64(samples) if hasattr(samples, "addressable_data") else nullcontext()


def _rows(samples: Any, happened: Any) -> Unpacked:
    """An event as a Series: for every row of a DataFrame, or once per sample (`groupby`)."""
    base, order = unpack(samples), frame_order(samples)
    shape = next(iter(base.values.values())).shape
    if happened.index.name == SAMPLE and len(happened) == shape[0]:
        return unpack(happened.sort_index().to_numpy())
    if not happened.index.equals(samples.index):
        got = f"{len(happened)} values"
        raise ValueError(f"expected an event for each row or each sample, got {got}")
    return base._replace(values={"probability": happened.to_numpy()[order].reshape(shape)})


def functional(samples: Any, function: Callable[[Any], Any]) -> np.ndarray:
    """Values of a function of one sample at a time.

    Args:
        samples: Samples: an array (s, ...), a Dataset or DataArray with the dimension
            `sample`, or a tidy DataFrame with the column `sample`.
        function: Takes one sample in the form of a single function, gives a number or an
            array.

    Returns:
        Values (s, ...). They are samples themselves: `mean`, `quantiles` and the others apply.
    """
    if not is_table(samples):
        functions: Iterable[Any] = np.asarray(samples)
    elif is_frame(samples):
        unpack(samples, 1)
        groups = samples.iloc[frame_order(samples)].groupby(SAMPLE, sort=True)
        functions = (part.drop(columns=SAMPLE).reset_index(drop=True) for _, part in groups)
    else:
        unpack(samples, 1)
        functions = (samples.isel({SAMPLE: i}) for i in range(samples.sizes[SAMPLE]))
    with _precision(samples):
        return np.stack([np.asarray(function(part)) for part in functions])


def _each(samples: Any, summary: Callable, times: bool = True) -> Estimate:
    unpacked = unpack_real(samples)
    pairs = {}
    for name, values in unpacked.values.items():
        if values.dtype.kind in "mM" and times:
            pairs[name] = _of_times(values, summary)
        elif values.dtype.kind in "fiu":
            pairs[name] = without_overflow(summary, values.astype(float))
        else:
            raise ValueError(f"expected samples of numbers, got {values.dtype} in {name!r}")
    return _pair(unpacked, pairs)


def without_overflow(summary: Callable, values: np.ndarray) -> tuple[Any, Any]:
    """A summary and its error, refused where powers of the values are no finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = summary(values)
    if not all(np.isfinite(part).all() for part in result):
        most = np.abs(values).max(initial=0.0)
        raise ValueError(f"expected samples whose powers are finite, got values up to {most:.0e}")
    return result


def _pair(unpacked, pairs: dict[str, tuple], **attributes: str) -> Estimate:
    value, error = ({name: pair[i] for name, pair in pairs.items()} for i in range(2))
    words = {"long_name": "Monte Carlo standard error", "standard_name": ""}
    return Estimate(
        unpacked.wrap(value, **attributes), unpacked.wrap(error, **{**attributes, **words})
    )


def _of_times(values: np.ndarray, summary: Callable) -> tuple[Any, Any]:
    """Summary of datetimes or durations; the error is a duration."""
    start = values.min()
    seconds = (values - start) / np.timedelta64(1, "ns")
    value, error = (np.rint(part).astype("timedelta64[ns]") for part in summary(seconds))
    return start + value, error


def _deviation(values: np.ndarray) -> tuple[Any, Any]:
    s = len(values)
    square = values.var(axis=0, ddof=1)
    fourth = np.mean((values - values.mean(axis=0)) ** 4, axis=0)
    variance = np.maximum(fourth - (s - 3) / (s - 1) * square**2, 0) / s
    deviation = np.sqrt(square)
    return deviation, np.sqrt(variance) / (2 * np.where(deviation > 0, deviation, 1.0))


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"expected 0 < level < 1, got {level}")
    return float(level)


def _quantile(values: np.ndarray, level: float) -> tuple[Any, Any]:
    s = len(values)
    shape = (level * (s + 1), (1 - level) * (s + 1))
    weights = np.diff(betainc(*shape, np.linspace(0, 1, s + 1)))
    ordered = np.sort(values, axis=0)
    centred = ordered - np.tensordot(weights, ordered, axes=1)
    error = np.sqrt(np.tensordot(weights, centred**2, axes=1))
    return np.quantile(values, level, axis=0), error


def _share(happened: np.ndarray) -> tuple[Any, Any]:
    s, k = len(happened), happened.sum(axis=0)
    return k / s, np.sqrt((k + 1) * (s - k + 1) / ((s + 2) ** 2 * (s + 3)))


def _stack(estimates: list[tuple[float, Estimate]], index: int) -> Any:
    """Join the quantiles of several levels."""
    levels, values = [p[0] for p in estimates], [p[1][index] for p in estimates]
    if not is_table(values[0]):
        return np.stack(values)
    if is_frame(values[0]):
        import pandas as pd

        marked = [v.assign(quantile=level) for v, level in zip(values, levels, strict=True)]
        return pd.concat(marked, ignore_index=True)
    import xarray as xr

    axis = xr.Variable("quantile", np.asarray(levels, float), {"long_name": "probability level"})
    return xr.concat(values, axis, combine_attrs="override")
