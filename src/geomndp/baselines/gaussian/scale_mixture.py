"""Heavier tails over functions: a Gaussian process with a random scale, as a finite mixture."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh_tridiagonal

from geomndp import _validation
from geomndp.gp import GP
from geomndp.kernels import Scaled


def scale_mixture(gp: GP, dof: float, number: int = 5) -> tuple[tuple[float, GP], ...]:
    r"""Student-t process as a mixture of Gaussian ones with scaled covariances.

    $y = m + \sqrt{c}\,(g - m)$ with g the process and $(\nu - 2) / c$ chi-squared with $\nu$
    degrees of freedom, so that the covariance stays; Gauss quadrature over c.

    Args:
        gp: The process, whose mean and covariance the mixture has.
        dof: Degrees of freedom, more than 2.
        number: Number of components.

    Returns:
        Weight and process of every component; the weights sum to 1.

    Raises:
        ValueError: If there are not more than 2 degrees of freedom.
    """
    if not (_validation.is_number(dof) and dof > 2):
        raise ValueError(f"expected dof > 2, got {dof}")
    _validation.at_least(1, number=number)
    nodes, shares = _gamma_quadrature(dof / 2, number)
    factors = (dof / 2 - 1) / nodes
    # Quadrature of a truncated range: the covariance is kept exactly.
    factors = factors / np.sum(shares * factors)
    result = []
    for share, factor in zip(shares, factors, strict=True):
        noise = factor * np.asarray(gp.noise, np.float64)
        noise = tuple(map(float, noise)) if noise.ndim else float(noise)
        scaled = GP(Scaled(float(factor), gp.kernel), gp.mean, noise)
        result.append((float(share), scaled))
    return tuple(result)


def _gamma_quadrature(shape: float, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, which sum to 1, for expectations under a gamma law of scale one.

    From the recurrence of the generalised Laguerre polynomials (Golub and Welsch 1969), without
    gamma functions, which overflow for more than 340 degrees of freedom.
    """
    order = np.arange(number)
    below = np.sqrt(order[1:] * (order[1:] + shape - 1))
    nodes, vectors = eigh_tridiagonal(2 * order + shape, below)
    return nodes, vectors[0] ** 2
