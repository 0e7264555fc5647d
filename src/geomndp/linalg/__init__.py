r"""Gram operators: the covariance of a function's values at n inputs, as a map on (n, p) arrays.

Two structures suffice. `DiagonalGram` is white noise: O(n) in memory and time. `MatrixGram` is
dense; when the p outputs are independent copies it keeps one n x n matrix and applies it to every
column, so that one Cholesky of size n serves all p outputs.
"""

from geomndp._deprecated import deprecated_names
from geomndp.linalg.blocks import by_blocks
from geomndp.linalg.diagonal import (
    LOG_2PI,
    DiagonalGram,
    columns,
    join_masks,
    join_per_point,
    norm,
    of_one_rank,
    outputs_per_entry,
    per_point,
    row_mask,
    safe_sqrt,
    zero_masked,
)
from geomndp.linalg.factors import cholesky, cholesky_solve, solve_lower
from geomndp.linalg.gaussian import Conditioning, gaussian_kl
from geomndp.linalg.gram import AbstractGram, per_output
from geomndp.linalg.matrix import MatrixGram, apply, jitter, matmul, variances

__all__ = [
    "LOG_2PI",
    "AbstractGram",
    "Conditioning",
    "DiagonalGram",
    "MatrixGram",
    "apply",
    "by_blocks",
    "cholesky",
    "cholesky_solve",
    "columns",
    "gaussian_kl",
    "jitter",
    "join_masks",
    "join_per_point",
    "matmul",
    "norm",
    "of_one_rank",
    "outputs_per_entry",
    "per_output",
    "per_point",
    "row_mask",
    "safe_sqrt",
    "solve_lower",
    "variances",
    "zero_masked",
]

deprecated_names(__name__, {"masks": "diagonal"})
