"""The kernel of a rank-2 tensor field: the Hessian of a smooth random scalar field."""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _model_files, _validation
from geomndp.equivariance import symmetric_basis
from geomndp.kernels.base import AbstractKernel


@_model_files.tagged("kernel/hessian")
class Hessian(AbstractKernel):
    r"""Covariance of the Hessian of a field with a squared-exponential kernel k0.

    $\partial_i \partial_j \partial'_k \partial'_l k_0$, with $r = (x_1 - x_2) / \ell$ and times
    $\ell^4$: $k_0 (r_i r_j r_k r_l - [\delta_{ij} r_k r_l]_6 + [\delta_{ij} \delta_{kl}]_3)$, the
    brackets sums over the distinct orders of i, j, k, l. Values are symmetric tensors in the
    orthonormal basis of `equivariance.symmetric_basis`; a diagonal entry has three times the
    variance of k0.

    Args:
        lengthscale: That of k0.
        variance: That of k0.
        space: Dimension of space, 2 or 3.
    """

    lengthscale: float = 1.0
    variance: float = 1.0
    space: int = eqx.field(default=2, static=True)
    shared = False

    def __check_init__(self):
        _validation.one_positive(lengthscale=self.lengthscale, variance=self.variance)
        _validation.one_of("space", self.space, (2, 3))

    @property
    def dim(self) -> int:
        return self.space * (self.space + 1) // 2

    def __call__(self, x1, x2):
        d = self.space
        _validation.shape("inputs", x1, (d,))
        r = (x1 - x2) / self.lengthscale
        eye, outer = jnp.eye(d, dtype=x1.dtype), jnp.outer(r, r)

        def pairings(a, b):
            """Sum of a_ij b_kl over the three ways to split i, j, k, l into pairs."""
            orders = ("ij,kl->ijkl", "ik,jl->ijkl", "il,jk->ijkl")
            return sum(jnp.einsum(order, a, b) for order in orders)

        fourth = jnp.einsum("ij,kl->ijkl", outer, outer)
        mixed = pairings(eye, outer) + pairings(outer, eye)
        tensor = fourth - mixed + pairings(eye, eye)
        basis = jnp.asarray(symmetric_basis(d), x1.dtype)
        block = jnp.einsum("ija,ijkl,klb->ab", basis, tensor, basis, precision="highest")
        return self.variance * jnp.exp(-0.5 * jnp.sum(r**2)) * block
