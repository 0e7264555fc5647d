r"""What the values of a field are, and how they turn when space is turned.

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

REPRESENTATIONS = ("scalar", "pseudoscalar", "vector", "pseudovector", "tensor", "symmetric")


def symmetric_basis(dim: int) -> np.ndarray:
    """Orthonormal basis of the symmetric matrices: (d, d, d (d + 1) / 2), the diagonal first."""
    pairs = [(i, i) for i in range(dim)] + list(itertools.combinations(range(dim), 2))
    basis = np.zeros((dim, dim, len(pairs)))
    for column, (i, j) in enumerate(pairs):
        basis[i, j, column] = basis[j, i, column] = 1.0 if i == j else math.sqrt(0.5)
    return basis


class FieldType(eqx.Module):
    """Values of a field over R^dim: parts of the given representations, one after the other."""

    dim: int = eqx.field(static=True)
    representations: tuple[str, ...] = eqx.field(static=True)
    kinds = renamed_attribute("representations")

    def __init__(self, dim: int, *representations: str):
        """List the parts of a value, such as `FieldType(2, "scalar", "vector")`."""
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
        """D(R), with one block a part."""
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
