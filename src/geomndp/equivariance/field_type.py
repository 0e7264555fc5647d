r"""Types of fields: how their values transform when space is rotated or reflected.

An orthogonal matrix R acts on a value of p components by an orthogonal matrix D(R):

| representation | components | D(R) |
|---|---|---|
| scalar | 1 | 1 |
| pseudoscalar | 1 | det R |
| vector | d | R |
| pseudovector | d | det(R) R |
| tensor | d^2, row by row | $R \otimes R$ |
| symmetric | d (d + 1) / 2 | $R \otimes R$ on symmetric matrices |

Symmetric tensors are written in an orthonormal basis (Mandel 1965): the diagonal, then the other
entries times $\sqrt 2$. Only so is D(R) orthogonal, and white noise on the components invariant.

Over the plane a value is also a set of complex channels of angular orders 0, 1 and 2. A rotation by
$\phi$ multiplies a channel of order m by $e^{i m \phi}$, and the reflection $x_2 \to -x_2$
conjugates it: irreducible representations of O(2), where order 0 holds two of them, scalars (real)
and pseudo-scalars (imaginary).

| value | channels |
|---|---|
| scalar s, pseudo-scalar q | order 0: s, i q |
| vector v | order 1: v_1 + i v_2 |
| pseudo-vector w | order 1: -w_2 + i w_1 |
| tensor T | order 0: (T_11 + T_22 + i (T_21 - T_12)) / sqrt 2 |
| | order 2: (T_11 - T_22 + i (T_12 + T_21)) / sqrt 2 |
"""

from __future__ import annotations

import itertools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_attribute
from geomndp._types import Array, Float

ORDERS = (0, 1, 2)
"""Angular orders of the channels of a planar field."""
REPRESENTATIONS = ("scalar", "pseudoscalar", "vector", "pseudovector", "tensor", "symmetric")


def symmetric_basis(dim: int) -> np.ndarray:
    """Orthonormal basis of the symmetric matrices, the diagonal first.

    Args:
        dim: Dimension d of space.

    Returns:
        One matrix per column, shape (d, d, d (d + 1) / 2).
    """
    pairs = [(i, i) for i in range(dim)] + list(itertools.combinations(range(dim), 2))
    basis = np.zeros((dim, dim, len(pairs)))
    for column, (i, j) in enumerate(pairs):
        basis[i, j, column] = basis[j, i, column] = 1.0 if i == j else math.sqrt(0.5)
    return basis


class FieldType(eqx.Module):
    """Values of a field over R^dim: parts of the given representations, one after the other.

    Args:
        dim: Dimension of space, 2 or 3.
        *representations: Those of the parts: "scalar", "pseudoscalar", "vector", "pseudovector",
            "tensor" or "symmetric".

    Raises:
        ValueError: If there is no part, or an unknown one.

    Example:
        `FieldType(2, "scalar", "vector")`: pressure and wind.
    """

    dim: int = eqx.field(static=True)
    representations: tuple[str, ...] = eqx.field(static=True)
    kinds = renamed_attribute("representations")

    def __init__(self, dim: int, *representations: str):
        _validation.one_of("dim", dim, (2, 3))
        if not representations:
            raise ValueError("expected at least one representation, got none")
        for representation in representations:
            _validation.one_of("representation", representation, REPRESENTATIONS)
        self.dim, self.representations = dim, representations

    @property
    def sizes(self) -> tuple[int, ...]:
        """Components of every part."""
        d = self.dim
        sizes = (1, 1, d, d, d * d, d * (d + 1) // 2)
        known: dict[str, int] = dict(zip(REPRESENTATIONS, sizes, strict=True))
        return tuple(known[representation] for representation in self.representations)

    @property
    def size(self) -> int:
        """Components of a value."""
        return sum(self.sizes)

    def action(self, matrix: Float[Array, "d d"]) -> Float[Array, "p p"]:
        """Matrix D(R) by which values transform, block-diagonal with one block per part.

        Args:
            matrix: Orthogonal matrix R, shape (d, d).

        Returns:
            Shape (p, p).
        """
        _validation.shape("matrix", matrix, (self.dim, self.dim))
        rows, start = [], 0
        for representation, size in zip(self.representations, self.sizes, strict=True):
            block = _block(representation, matrix)
            rows.append(jnp.pad(block, ((0, 0), (start, self.size - start - size))))
            start += size
        return jnp.concatenate(rows)


def _block(representation: str, matrix: Array) -> Array:
    if representation in ("scalar", "pseudoscalar"):
        value = (
            jnp.linalg.det(matrix)
            if representation == "pseudoscalar"
            else jnp.ones((), matrix.dtype)
        )
        return value[None, None]
    if representation == "vector":
        return matrix
    if representation == "pseudovector":
        return jnp.linalg.det(matrix) * matrix
    both = jnp.kron(matrix, matrix)
    if representation == "tensor":
        return both
    basis = jnp.asarray(symmetric_basis(len(matrix)).reshape(len(both), -1), matrix.dtype)
    return jnp.linalg.multi_dot([basis.T, both, basis], precision="highest")


def _tensor() -> list[tuple[int, np.ndarray]]:
    bases = {
        0: ([[1, 0], [0, 1]], [[0, -1], [1, 0]]),
        2: ([[1, 0], [0, -1]], [[0, 1], [1, 0]]),
    }
    return [(m, math.sqrt(0.5) * np.reshape(p, (2, 4))) for m, p in bases.items()]


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


def circular_basis(field_type: FieldType) -> np.ndarray:
    """Coefficients of the complex channels of planar values in their components.

    Channels that an order does not need are zero. The basis is orthonormal: the same coefficients
    lead back to the components.

    Args:
        field_type: A field type over the plane, with p components.

    Returns:
        Coefficients of real and imaginary parts, shape (orders, 2, channels, p).

    Raises:
        ValueError: If the field is not over the plane.
    """
    if field_type.dim != 2:
        raise ValueError(f"expected values over the plane, got dimension {field_type.dim}")
    by_order: list[list[np.ndarray]] = [[] for _ in ORDERS]
    start = 0
    for representation, size in zip(field_type.representations, field_type.sizes, strict=True):
        for order, matrix in _channels(representation):
            wide = np.zeros((2, field_type.size))
            wide[:, start : start + size] = matrix
            by_order[order].append(wide)
        start += size
    most = max(map(len, by_order))
    empty = np.zeros((2, field_type.size))
    padded = [group + [empty] * (most - len(group)) for group in by_order]
    return np.stack([np.stack(group, axis=1) for group in padded])
