"""Cholesky factors and triangular solves, on a CPU one matrix of a batch after the other.

Batched LAPACK calls of jaxlib (Cholesky factors, triangular solves) hold a thread of XLA's and wait
for others: as many of them side by side as XLA has threads would wait for ever (jaxlib 0.10, 0.11).
"""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def diagonal(matrix: Float[Array, "m m"]) -> Float[Array, " m"]:
    """Diagonal of a matrix, by products: their derivatives are float64 in a 32-bit program too."""
    return jnp.sum(matrix * jnp.eye(len(matrix), dtype=matrix.dtype), axis=1)


def on_diagonal(values: Float[Array, " m"]) -> Float[Array, "m m"]:
    """Matrix of a diagonal, by products as `diagonal`."""
    return values[:, None] * jnp.eye(len(values), dtype=values.dtype)


def _batched_in_turn(one: Callable[..., Array]) -> Any:
    """Function of a matrix, or of a matrix and columns, whose batches go in turn on a CPU."""
    function = jax.custom_batching.custom_vmap(one)

    @function.def_vmap
    def _batched(axis_size: int, in_batched: list[bool], *arrays: Array) -> tuple[Array, bool]:
        # `vmap` traces float64 of a 32-bit program outside of `jax.enable_x64`.
        with nullcontext() if arrays[0].dtype != jnp.float64 else jax.enable_x64(True):
            if not in_batched[0]:
                return _of_one_matrix(function, *arrays), True
            arrays = tuple(
                array if moves else jnp.broadcast_to(array, (axis_size, *array.shape))
                for array, moves in zip(arrays, in_batched, strict=True)
            )
            in_turn = lambda *batch: jax.lax.map(lambda row: function(*row), batch)  # noqa: E731
            return jax.lax.platform_dependent(*arrays, cpu=in_turn, default=jax.vmap(one)), True

    return function


def _of_one_matrix(function: Any, matrix: Array, batch: Array) -> Array:
    """Values (b, n, k) of all functions as columns of one call."""
    b, n, k = batch.shape
    columns = jnp.moveaxis(batch, 0, 1).reshape(n, b * k)
    return jnp.moveaxis(function(matrix, columns).reshape(n, b, k), 1, 0)


_factor = _batched_in_turn(functools.partial(jax.lax.linalg.cholesky, symmetrize_input=False))


@jax.custom_jvp
def _cholesky(matrix: Array) -> Array:
    return _factor(matrix)


@_cholesky.defjvp
def _cholesky_jvp(primals, tangents):
    factor, moved = _cholesky(*primals), tangents[0]
    half = solve_lower(factor, moved)
    inner = jnp.tril(solve_lower(factor, half.T).T)
    inner = inner * (1 - 0.5 * jnp.eye(len(inner), dtype=inner.dtype))
    return factor, jax.lax.dot(factor, inner, precision="highest")


def cholesky(matrix: Float[Array, "m m"]) -> Float[Array, "m m"]:
    r"""Lower factor L with $L L^T = (A + A^T) / 2$; NaN where that is not positive definite.

    Args:
        matrix: A, shape (m, m).
    """
    return _cholesky(0.5 * (matrix + matrix.T))


def _triangular(transposed: bool) -> Any:
    return _batched_in_turn(
        functools.partial(
            jax.lax.linalg.triangular_solve, left_side=True, lower=True, transpose_a=transposed
        )
    )


_SOLVES = {transposed: _triangular(transposed) for transposed in (False, True)}


@functools.partial(jax.jit, static_argnames="transposed")
def _solve(factor: Array, values: Array, *, transposed: bool) -> Array:
    """Solution (n, k) for a lower factor (n, n), with derivatives of every order."""
    lower = jnp.tril(factor)

    def product(v: Array) -> Array:
        return jax.lax.dot(lower.T if transposed else lower, v, precision="highest")

    def solve(_, v: Array) -> Array:
        return _SOLVES[transposed](factor, v)

    def transpose_solve(_, v: Array) -> Array:
        return _SOLVES[not transposed](factor, v)

    return jax.lax.custom_linear_solve(product, values, solve, transpose_solve)


def solve_lower(factor: Any, values: Any, *, transposed: bool = False) -> Any:
    """Apply the inverse of a lower triangular matrix, or that of its transpose.

    Arrays of NumPy are computed on the host.

    Args:
        factor: Lower triangular, shape (n, n); what stands above its diagonal is not read.
        values: Shape (n,) or (n, k).
        transposed: Whether to solve with the transpose.
    """
    if not (isinstance(factor, jax.Array) or isinstance(values, jax.Array)):
        from scipy.linalg import solve_triangular

        return solve_triangular(factor, values, lower=True, trans=int(transposed))
    columns = values[:, None] if values.ndim == 1 else values
    return _solve(factor, columns, transposed=transposed).reshape(values.shape)


def cholesky_solve(factor: Any, values: Any) -> Any:
    r"""Apply the inverse of $A = L L^\top$.

    Args:
        factor: L, lower triangular, shape (n, n).
        values: Shape (n,) or (n, k).
    """
    return solve_lower(factor, solve_lower(factor, values), transposed=True)
