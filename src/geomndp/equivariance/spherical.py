"""Values of fields over R^3 as irreducible representations of O(3), in e3nn's conventions."""

from __future__ import annotations

import math

import numpy as np

from geomndp.equivariance.field_type import FieldType, symmetric_basis

_IRREPS = {
    "scalar": ("0e",),
    "pseudoscalar": ("0o",),
    "vector": ("1o",),
    "pseudovector": ("1e",),
    "tensor": ("0e", "1e", "2e"),
    "symmetric": ("0e", "2e"),
}


def irreps_of(field_type: FieldType) -> str:
    """Irreducible representations of the parts in e3nn's notation, in their order.

    Args:
        field_type: A field type over R^3.

    Returns:
        For example "0e+2e" for a symmetric tensor.

    Raises:
        ValueError: If the field is not over R^3.
    """
    if field_type.dim != 3:
        raise ValueError(f"expected values over R^3, got dimension {field_type.dim}")
    return "+".join(
        irrep for representation in field_type.representations for irrep in _IRREPS[representation]
    )


def spherical_basis(field_type: FieldType) -> np.ndarray:
    """Orthogonal matrix from the components of a value to those of `irreps_of`.

    Args:
        field_type: A field type over R^3 with p components.

    Returns:
        Shape (p, p).
    """
    total = np.zeros((field_type.size, field_type.size))
    start = 0
    for representation, size in zip(field_type.representations, field_type.sizes, strict=True):
        total[start : start + size, start : start + size] = _block(representation, size)
        start += size
    return total


def _block(representation: str, size: int) -> np.ndarray:
    if representation not in ("tensor", "symmetric"):
        return np.eye(size)
    from e3nn_jax import clebsch_gordan

    rows = [
        math.sqrt(2 * int(irrep[0]) + 1)
        * np.asarray(clebsch_gordan(1, 1, int(irrep[0]))).reshape(9, -1).T
        for irrep in _IRREPS[representation]
    ]
    matrix = np.concatenate(rows)
    return matrix if representation == "tensor" else matrix @ symmetric_basis(3).reshape(9, 6)
