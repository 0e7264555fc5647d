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


def irreps_of(codomain: FieldType) -> str:
    """Representations of the parts in their order, such as "0e+2e" for a symmetric tensor."""
    if codomain.dim != 3:
        raise ValueError(f"expected values over R^3, got dimension {codomain.dim}")
    return "+".join(
        irrep for representation in codomain.representations for irrep in _IRREPS[representation]
    )


def spherical_basis(codomain: FieldType) -> np.ndarray:
    """Orthogonal (p, p) matrix from the components of a value to those of `irreps_of`."""
    total = np.zeros((codomain.size, codomain.size))
    start = 0
    for representation, size in zip(codomain.representations, codomain.sizes, strict=True):
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
