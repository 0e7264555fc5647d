"""Inputs on the sphere in a plan: unit vectors in the place of latitudes and longitudes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geomndp._methods import DIFFUSION
from geomndp.equivariance import FieldType
from geomndp.tables import Variables

SPHERE_SYMMETRIES = ("SO(3)", "axial")
"""All rotations and reflections of the sphere; rotations about the axis and the mirror image."""
ON_SPHERE = "expected outputs=... in the order east, north of the vectors' components, got none"


def check_sphere(symmetry: str, codomain: str, method: str) -> bool:
    """Whether inputs lie on the sphere; refuse what is not known there.

    Args:
        symmetry: That of `gn.build`.
        codomain: Where outputs lie.
        method: Method of `gn.build`.

    Raises:
        ValueError: For tracks, and for neural processes.
    """
    if symmetry not in SPHERE_SYMMETRIES:
        return False
    if codomain != "real":
        raise ValueError(f"expected codomain 'real' with {symmetry}, got {codomain!r}")
    if method != DIFFUSION:
        raise ValueError(f"expected method {DIFFUSION!r} with {symmetry}, got {method!r}")
    return True


def check_components(rigid: FieldType, outputs: Any) -> None:
    """Refuse vectors whose outputs were not named: the east component comes first."""
    if outputs is None and set(rigid.representations) - {"scalar", "pseudoscalar"}:
        raise ValueError(ON_SPHERE)


def location_columns(variables: Variables) -> int:
    """Columns of x before the covariates."""
    return variables.input_dim - variables.num_covariates


def column_periods(variables: Variables, periods: tuple[float, ...]) -> tuple[float, ...]:
    """Periods of the columns of x from those of the inputs by name; `()` for none."""
    if variables.domain != "sphere" or not periods:
        return periods
    return (0.0, *periods)


def keep_unit_vectors(
    shift: np.ndarray, scale: np.ndarray, variables: Variables
) -> tuple[np.ndarray, np.ndarray]:
    """Shift and scale of all columns of x that leave unit vectors alone."""
    if variables.domain != "sphere":
        return shift, scale
    first = np.arange(variables.input_dim) < 3
    scale = np.broadcast_to(scale, first.shape)
    return np.where(first, 0.0, shift), np.where(first, 1.0, scale)


def angle_of_chord(chord: float) -> float:
    """Angle in radians between unit vectors of this distance, at most pi."""
    return 2 * math.asin(min(chord / 2, 1.0))
