r"""Covariances of tangent vector fields on the sphere: gradients, and their quarter turns.

With f a zonal kernel of $u = x \cdot x'$ the surface gradient of its fields has covariance
$P_x [f'(u) I + f''(u) x' x^T] P_{x'}$, P the tangent projections; turned by 90 degrees in both
tangent planes it is that of divergence-free fields. In the directions along and across the
geodesic it is diagonal: $u f' - (1 - u^2) f''$ and $f'$. Values are (east, north) components in
the frames of `geodesy.east_and_north`.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from geomndp import _model_files, _validation
from geomndp._types import Array, Float
from geomndp.geometry.geodesy import east_and_north
from geomndp.kernels.sphere.legendre import half_squares
from geomndp.kernels.sphere.zonal import AbstractSphereKernel, AbstractZonal, check_point
from geomndp.linalg import matmul


class AbstractTangent(AbstractSphereKernel):
    """Tangent fields made from a scalar potential."""

    potential: eqx.AbstractVar[AbstractZonal]
    variance: eqx.AbstractVar[float]
    dim = 2
    shared = False

    def __check_init__(self):
        _validation.one_positive(variance=self.variance)
        if not isinstance(self.potential, AbstractZonal):
            got = _validation.brief(self.potential)
            raise ValueError(
                f"expected a zonal kernel as potential, such as ZonalMatern(), got {got}"
            )
        self.potential.check_gradient()

    @abc.abstractmethod
    def gradient_directions(self, x: Float[Array, " 3"]) -> Float[Array, "2 3"]:
        """Directions in which the potential's slopes are the east and the north component."""

    def __call__(self, x1, x2):
        check_point(x1)
        _, first, second = self.potential.derivatives(x1, x2, 2)
        rows1, rows2 = self.gradient_directions(x1), self.gradient_directions(x2)
        below, above = half_squares(x1, x2)
        # Products with the other point, of which only the difference to one's own (or to its
        # antipode) is not rounding.
        sign = jnp.where(below <= above, 1.0, -1.0).astype(x1.dtype)
        # Sums instead of matrix products: of these vmap loses float64 where JAX's own is float32.
        slope1 = jnp.sum(rows1 * (x2 - sign * x1)[None], axis=1)
        slope2 = jnp.sum(rows2 * (x1 - sign * x2)[None], axis=1)
        inner = jnp.sum(rows1[:, None] * rows2[None], axis=2)
        factor = self.variance / self.potential.slope(x1.dtype)
        return factor * (first * inner + second * jnp.outer(slope1, slope2))

    def ambient(self, x1: Float[Array, " 3"], x2: Float[Array, " 3"]) -> Float[Array, "3 3"]:
        """Covariance of the field as vectors of R^3.

        Args:
            x1: Unit vector, shape (3,).
            x2: Another.

        Returns:
            Shape (3, 3), of rank two.
        """
        frames = [jnp.asarray(east_and_north(x)) for x in (x1, x2)]
        return matmul(matmul(frames[0].T, self(x1, x2)), frames[1])


@_model_files.tagged("kernel/sphere-curl-free")
class SphereCurlFree(AbstractTangent):
    r"""Surface gradients of a random scalar field on the sphere: tangent fields without curl.

    Args:
        potential: Zonal kernel of the scalar field; its own variance does not matter.
        variance: Variance of each component, east and north.

    Raises:
        ValueError: If the potential has no gradient, as Matern fields with nu <= 1.

    Example:
        ```python
        k = gn.kernels.SphereCurlFree(gn.kernels.ZonalExponential(0.35))
        x = jnp.asarray(gn.geometry.geodesy.to_unit([50.0, -20.0], [10.0, 170.0]))
        k.gram(x).dense()  # (4, 4), on (point, component)
        ```
    """

    potential: AbstractZonal
    variance: float = 1.0

    def gradient_directions(self, x):
        return jnp.asarray(east_and_north(x))


@_model_files.tagged("kernel/sphere-divergence-free")
class SphereDivergenceFree(AbstractTangent):
    r"""Surface gradients of a stream function turned by 90 degrees: fields without divergence.

    The field $x \times \nabla\psi$ has the components $(-\psi_{north}, \psi_{east})$.

    Args:
        potential: Zonal kernel of the stream function; its own variance does not matter.
        variance: Variance of each component, east and north.

    Raises:
        ValueError: If the stream function has no gradient, as Matern fields with nu <= 1.
    """

    potential: AbstractZonal
    variance: float = 1.0

    def gradient_directions(self, x):
        east, north = east_and_north(x)
        return jnp.stack([-north, east])
