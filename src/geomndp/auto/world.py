"""What a user knows of the world: periods of inputs, and the noise of training values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp.data import Normaliser
from geomndp.tables import Functions, Variables


def periods_of(
    variables: Variables, periodic: Mapping[str, Any] | None, rigid: bool
) -> tuple[float, ...]:
    """Period of every column of x in the data's units, zero where it has none; `()` for none.

    Args:
        variables: Names of the columns.
        periodic: Periods by name.
        rigid: Whether the inputs turn together, and so cannot be periodic.

    Raises:
        ValueError: If a period is not positive, or of no column that may have one.
    """
    if not periodic:
        return ()
    names = variables.input_names
    allowed = names[variables.num_inputs :] if rigid else names
    if other := [name for name in periodic if name not in allowed]:
        which = "covariates under rigid transforms" if rigid else "inputs and covariates"
        listed = ", ".join(map(repr, allowed)) or "none"
        raise ValueError(f"expected periods of {which} ({listed}), got one of {other[0]!r}")
    _validation.positive(**{f"period of {name}": period for name, period in periodic.items()})
    return tuple(float(periodic.get(name, 0.0)) for name in names)


def noise_in_model_units(functions: Functions, units: Normaliser) -> np.ndarray | None:
    """Variances (b, n) of the values' noise in the model's units, None where none is known.

    Args:
        functions: The training functions in the data's units.
        units: Change of units.

    Raises:
        ValueError: On the sphere, and where the outputs of a point are missing apart or not equally
            noisy.
    """
    if functions.noise is None:
        return None
    if functions.variables.codomain == "sphere":
        raise ValueError("expected values without noise on the sphere, got noise=...")
    if functions.mask.ndim == 3:
        raise ValueError(
            "expected all outputs at every point with noise=..., got some that are missing apart: "
            "drop_missing=True leaves such points out"
        )
    variances = functions.noise / np.asarray(units.y_scale) ** 2
    first = variances[..., :1]
    if not np.allclose(variances, first, rtol=1e-6, atol=0.0):
        scales = ", ".join(f"{scale:.4g}" for scale in units.y_scale)
        raise ValueError(
            "expected the same noise of all outputs of a point, relative to their scales "
            f"({scales}), got different ones: train a model for each output"
        )
    return first[..., 0]
