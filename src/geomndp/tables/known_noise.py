"""Known noise of training values: one variance, a column of them, or one or the other by output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._warnings import warn_at_request
from geomndp.tables.to_arrays import numeric
from geomndp.tables.units import check_variance
from geomndp.tables.variables import Variable

NoiseSpec = float | str | Mapping[str, Any] | None
"""None, a variance, the name of a column, or either by output."""


def noise_columns(noise: NoiseSpec) -> tuple[str, ...]:
    """Names of the columns that hold variances.

    Args:
        noise: None, a variance, the name of a column, or either by output.

    Raises:
        ValueError: If it is anything else.
    """
    parts = list(noise.values()) if isinstance(noise, Mapping) else [noise]
    for part in parts:
        if not isinstance(part, str) and part is not None:
            if not _validation.is_number(part) or not 0 <= part < np.inf:
                got = _validation.brief(part)
                raise ValueError(f"expected noise as a variance or the name of a column, got {got}")
    return tuple(dict.fromkeys(part for part in parts if isinstance(part, str)))


def read_noise(
    noise: NoiseSpec,
    outputs: tuple[Variable, ...],
    columns: Mapping[str, np.ndarray],
    units: Mapping[str, str],
    mask: np.ndarray,
) -> np.ndarray | None:
    """Variances (b, n, p) of the values, in squares of the outputs' units; zero where padded.

    Args:
        noise: As the user gave it.
        outputs: The outputs.
        columns: Columns (b, n) of a table by name.
        units: Their units.
        mask: Real points (b, n), or values (b, n, p).

    Returns:
        The variances, None where there is no noise at all.

    Raises:
        ValueError: If a real point has no variance, or a negative one.
    """
    if noise is None:
        return None
    names = [output.name for output in outputs]
    by_output = dict(noise) if isinstance(noise, Mapping) else dict.fromkeys(names, noise)
    if unknown := sorted(set(by_output) - set(names)):
        raise ValueError(f"expected noise of the outputs {names}, got it for {unknown[0]!r}")
    there = mask[:, :, None] if mask.ndim == 2 else mask
    there = np.broadcast_to(there, (*mask.shape[:2], len(outputs)))
    variances = np.zeros(there.shape)
    for i, output in enumerate(outputs):
        part = by_output.get(output.name, 0.0)
        if not isinstance(part, str):
            variances[..., i] = 0.0 if part is None else part
            continue
        stated = [o.units for o in outputs if by_output.get(o.name) == part]
        check_variance(part, units[part], stated, False)
        variances[..., i] = _checked(part, numeric(part, columns[part]), there[..., i])
    variances = np.where(there, variances, 0.0)
    return variances if variances.any() else None


def _checked(name: str, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    bad = mask & ~((values >= 0) & (values < np.inf))
    if bad.any():
        function, row = (int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"expected a variance >= 0 in {name!r} at every point, got {values[function, row]:g} "
            f"in function {function}, point {row}"
        )
    return values


def warn_about_size(names: Sequence[str], y: np.ndarray, noise: np.ndarray) -> None:
    r"""Warn of values that vary less than their known noise alone would make them.

    The mean of $(y - \bar y)^2 / r$ over N values with noise r has the mean $1 + E[s^2 / r]$ or
    more, $s^2$ the variance of the clean values, and without these the standard error
    $\sqrt{2 / N}$: by three of these below one the noise is too large.

    Args:
        names: Names of the outputs.
        y: Values (b, n, p).
        noise: Their variances (b, n, p), zero where values are padding.
    """
    for i, name in enumerate(names):
        counted = (noise[..., i] > 0) & np.isfinite(y[..., i])
        values, variances = y[..., i][counted], noise[..., i][counted]
        if len(values) < 2:
            continue
        share = np.mean((values - values.mean()) ** 2 / variances)
        if share < 1 - 3 * np.sqrt(2 / len(values)):
            warn_at_request(
                f"known noise of {name!r} is larger than its values allow: they vary "
                f"{share:.2g} times as much as their noise of variance {np.median(variances):.3g} "
                "alone would make them, so that little is left to learn; noise is a variance, in "
                "the square of the values' units, not a standard deviation",
                UserWarning,
            )
