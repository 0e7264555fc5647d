"""Cholesky factors that may be computed side by side."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float


@jax.custom_batching.custom_vmap
def _factor(matrix: Array) -> Array:
    """Cholesky factor of one symmetric matrix."""
    return jax.lax.linalg.cholesky(matrix, symmetrize_input=False)


@_factor.def_vmap
def _factors(axis_size: int, in_batched: list[bool], matrices: Array) -> tuple[Array, bool]:
    """Factors of several matrices, on a CPU one after the other.

    Two batches at the same time would wait for each other where XLA has two threads: each holds one
    and waits for another (jaxlib 0.11), and the process sleeps for ever.
    """
    if not in_batched[0]:
        return _factor(matrices), False

    def at_once(matrices: Array) -> Array:
        return jax.lax.linalg.cholesky(matrices, symmetrize_input=False)

    # `vmap` traces float64 of a 32-bit program outside of `jax.enable_x64`.
    with jax.enable_x64(True) if matrices.dtype == jnp.float64 else nullcontext():
        found = jax.lax.platform_dependent(
            matrices, cpu=lambda m: jax.lax.map(_factor, m), default=at_once
        )
    return found, True


@jax.custom_jvp
def _cholesky(matrix: Array) -> Array:
    return _factor(matrix)


@_cholesky.defjvp
def _cholesky_jvp(primals, tangents):
    factor, moved = _cholesky(*primals), tangents[0]
    half = solve_triangular(factor, moved, lower=True)
    inner = jnp.tril(solve_triangular(factor, half.T, lower=True).T)
    inner = inner - 0.5 * jnp.diag(jnp.diag(inner))
    return factor, jax.lax.dot(factor, inner, precision="highest")


def cholesky(matrix: Float[Array, "m m"]) -> Float[Array, "m m"]:
    r"""Lower factor L with $L L^T = (A + A^T) / 2$; NaN where that is not positive definite.

    Args:
        matrix: A, shape (m, m).

    Returns:
        The factor, shape (m, m).
    """
    return _cholesky(0.5 * (matrix + matrix.T))
