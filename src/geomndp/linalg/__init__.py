r"""Gram operators: the covariance of a function's values at n inputs, as a map on (n, p) arrays.

Two structures suffice. `DiagonalGram` is white noise: O(n) in memory and time. `MatrixGram` is
dense; when the p outputs are independent copies it keeps one n x n matrix and applies it to every
column, so that one Cholesky of size n serves all p outputs.
"""

from geomndp.linalg.base import (
    LOG_2PI,
    AbstractGram,
    apply,
    jitter,
    join_masks,
    matmul,
    per_output,
    zero_masked,
)
from geomndp.linalg.diagonal import DiagonalGram
from geomndp.linalg.matrix import MatrixGram

__all__ = [
    "LOG_2PI",
    "AbstractGram",
    "DiagonalGram",
    "MatrixGram",
    "apply",
    "jitter",
    "join_masks",
    "matmul",
    "per_output",
    "zero_masked",
]
