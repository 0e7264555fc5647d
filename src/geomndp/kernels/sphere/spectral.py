r"""Matern and heat kernels on the sphere, by their Legendre series.

With $\lambda_n = n (n + 1)$ the eigenvalues of the Laplacian and g the spectral density,
$f(u) = \sum_{n < N} (2 n + 1) g(\lambda_n) P_n(u) / \sum_{n < N} (2 n + 1) g(\lambda_n)$
(Borovitskiy et al. 2020). Truncated series are positive definite too: what is neglected is the
variance of the degrees from N on, a share of at most
$\int_{\lambda_{N-1}}^\infty g \, d\lambda / \sum_{n < N} (2 n + 1) g(\lambda_n)$.
"""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array
from geomndp.kernels.sphere.legendre import half_squares, series
from geomndp.kernels.sphere.zonal import AbstractZonal

NEGLECTED = 0.01
"""Largest share of the variance that a truncated series may neglect."""


class AbstractSpectralZonal(AbstractZonal):
    """Kernels by their Legendre series."""

    lengthscale: eqx.AbstractVar[float]
    num_terms: eqx.AbstractVar[int]

    def __check_init__(self):
        _validation.one_positive(lengthscale=self.lengthscale, variance=self.variance)
        _validation.at_least(2, num_terms=self.num_terms)
        self._check_terms(0)

    @abc.abstractmethod
    def log_spectrum(self, eigenvalue: Any) -> Any:
        r"""$\log g(\lambda)$, zero at zero.

        Args:
            eigenvalue: $\lambda = n (n + 1)$, any shape.
        """

    @abc.abstractmethod
    def tail(self, eigenvalue: float, order: int) -> float:
        r"""$\int_\lambda^\infty (\mu / 2)^k g(\mu) \, d\mu$.

        Args:
            eigenvalue: $\lambda$.
            order: k, 0 for values, 1 for gradients.
        """

    def neglected(self, order: int = 0) -> float:
        """Bound on the share of the variance in the degrees that the series leaves out.

        Args:
            order: 0 for the values, 1 for their gradient.

        Returns:
            A share of the kept variance; infinite where the terms do not fall yet.
        """
        degree = np.arange(self.num_terms + 1)
        eigenvalue = (degree * (degree + 1)).astype(float)
        log_spectrum = np.asarray(self.log_spectrum(eigenvalue))
        terms = (2 * degree + 1) * (eigenvalue / 2) ** order * np.exp(log_spectrum)
        if terms[-1] > terms[-2]:
            return math.inf
        return self.tail(eigenvalue[-2], order) / float(terms[:-1].sum())

    def _check_terms(self, order: int) -> None:
        if not all(map(_validation.concrete, jax.tree.leaves(self))):
            return
        share = self.neglected(order)
        if share > NEGLECTED:
            what = "gradient's variance" if order else "variance"
            raise ValueError(
                f"expected enough terms of the series to neglect at most {NEGLECTED:.0%} of the "
                f"{what}, got num_terms={self.num_terms}, which may neglect {share:.2g} of it"
            )

    def check_gradient(self):
        self._check_terms(1)

    def _coefficients(self, dtype) -> tuple[Array, Array]:
        """Coefficients that sum to one, and the eigenvalues of their degrees."""
        degree = np.arange(self.num_terms)
        eigenvalue = jnp.asarray(degree * (degree + 1), dtype=dtype)
        weights = jnp.asarray(2 * degree + 1, dtype=dtype)
        weights = weights * jnp.exp(self.log_spectrum(eigenvalue))
        return weights / jnp.sum(weights), eigenvalue

    def derivatives(self, x1, x2, order):
        return series(self._coefficients(x1.dtype)[0], *half_squares(x1, x2), order)

    def slope(self, dtype):
        coefficients, eigenvalue = self._coefficients(dtype)
        return jnp.sum(coefficients * eigenvalue) / 2


@_model_files.tagged("kernel/zonal-matern")
class ZonalMatern(AbstractSpectralZonal):
    r"""Matern fields on the sphere: $g(\lambda) = (1 + \ell^2 \lambda / 2 \nu)^{-\nu - 1}$.

    The law of the solution of $(2 \nu / \ell^2 - \Delta)^{(\nu + 1) / 2} f = $ white noise
    (Whittle; Lindgren et al. 2011). Near the diagonal it is the Matern kernel of the plane.

    Args:
        nu: Smoothness; gradients need nu > 1.
        lengthscale: In radians.
        variance: Variance of the values.
        num_terms: Terms of the series, degrees 0 to num_terms - 1.

    Raises:
        ValueError: If the series would neglect more than a hundredth of the variance.
    """

    nu: float = 2.5
    lengthscale: float = 1.0
    variance: float = 1.0
    num_terms: int = eqx.field(default=128, static=True)

    def __check_init__(self):
        _validation.one_positive(nu=self.nu)

    def log_spectrum(self, eigenvalue):
        xp = np if isinstance(eigenvalue, np.ndarray) else jnp
        return -(self.nu + 1) * xp.log1p(self.lengthscale**2 / (2 * self.nu) * eigenvalue)

    def tail(self, eigenvalue, order):
        nu, scale = float(self.nu), float(self.lengthscale) ** 2 / (2 * float(self.nu))
        base = 1 + scale * eigenvalue
        if order == 0:
            return base**-nu / (nu * scale)
        # mu / 2 = (base - 1) / (2 scale), of which the -1 is left out: a bound.
        return base ** (1 - nu) / (2 * (nu - 1) * scale**2) if nu > 1 else math.inf

    def check_gradient(self):
        if _validation.concrete(self.nu) and not self.nu > 1:
            raise ValueError(f"expected nu > 1 for gradients of a Matern field, got {self.nu}")
        super().check_gradient()


@_model_files.tagged("kernel/zonal-heat")
class ZonalHeat(AbstractSpectralZonal):
    r"""Heat kernel of the sphere: $g(\lambda) = \exp(-\ell^2 \lambda / 2)$.

    Up to a factor the density of `geometry.heat_kernel` (generator half the Laplacian) at the time
    $s = \ell^2$. The limit of `ZonalMatern` as nu grows; near the diagonal the squared-exponential
    kernel.

    Args:
        lengthscale: In radians.
        variance: Variance of the values.
        num_terms: Terms of the series, degrees 0 to num_terms - 1.

    Raises:
        ValueError: If the series would neglect more than a hundredth of the variance.
    """

    lengthscale: float = 1.0
    variance: float = 1.0
    num_terms: int = eqx.field(default=128, static=True)

    def log_spectrum(self, eigenvalue):
        return -(self.lengthscale**2) / 2 * eigenvalue

    def tail(self, eigenvalue, order):
        rate = float(self.lengthscale) ** 2 / 2
        decay = math.exp(-rate * eigenvalue) / rate
        return decay if order == 0 else decay * (eigenvalue + 1 / rate) / 2
