r"""Values of planar fields as complex channels of angular orders 0, 1 and 2.

A rotation by $\phi$ multiplies a channel of order m by $e^{i m \phi}$, and the reflection
$x_2 \to -x_2$ conjugates it: irreducible representations of O(2), where order 0 holds two of them,
scalars (real) and pseudo-scalars (imaginary).

| value | channels |
|---|---|
| scalar s, pseudo-scalar q | order 0: s, i q |
| vector v | order 1: v_1 + i v_2 |
| pseudo-vector w | order 1: -w_2 + i w_1 |
| tensor T | order 0: (T_11 + T_22 + i (T_21 - T_12)) / sqrt 2, order 2: (T_11 - T_22 + i (T_12 + T_21)) / sqrt 2 |
"""  # noqa: E501

from __future__ import annotations

import math

import numpy as np

from geomndp.equivariance.field_type import FieldType, symmetric_basis

ORDERS = (0, 1, 2)


def _tensor() -> list[tuple[int, np.ndarray]]:
    parts = {
        0: ([[1, 0], [0, 1]], [[0, -1], [1, 0]]),
        2: ([[1, 0], [0, -1]], [[0, 1], [1, 0]]),
    }
    return [(m, math.sqrt(0.5) * np.reshape(p, (2, 4))) for m, p in parts.items()]


def _channels(representation: str) -> list[tuple[int, np.ndarray]]:
    """Order of every channel of a value, and the (2, size) matrix that gives its two parts."""
    known = {
        "scalar": [(0, np.array([[1.0], [0.0]]))],
        "pseudoscalar": [(0, np.array([[0.0], [1.0]]))],
        "vector": [(1, np.eye(2))],
        "pseudovector": [(1, np.array([[0.0, -1.0], [1.0, 0.0]]))],
        "tensor": _tensor(),
    }
    if representation == "symmetric":
        basis = symmetric_basis(2).reshape(4, 3)
        return [(m, matrix @ basis) for m, matrix in _tensor()]
    return known[representation]


def circular_basis(codomain: FieldType) -> np.ndarray:
    """Coefficients (orders, 2, channels, p) of real and imaginary parts in the components.

    Channels that an order does not need are zero. The basis is orthonormal: the same coefficients
    lead back to the components.
    """
    if codomain.dim != 2:
        raise ValueError(f"expected values over the plane, got dimension {codomain.dim}")
    found: list[list[np.ndarray]] = [[] for _ in ORDERS]
    start = 0
    for representation, size in zip(codomain.representations, codomain.sizes, strict=True):
        for order, matrix in _channels(representation):
            wide = np.zeros((2, codomain.size))
            wide[:, start : start + size] = matrix
            found[order].append(wide)
        start += size
    most = max(map(len, found))
    empty = np.zeros((2, codomain.size))
    padded = [group + [empty] * (most - len(group)) for group in found]
    return np.stack([np.stack(group, axis=1) for group in padded])
