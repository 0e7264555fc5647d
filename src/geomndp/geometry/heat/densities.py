r"""Heat kernels of the circle, the sphere S^2 and SO(3) as functions of time and distance.

Times s are in radians squared, distances r in radians.

Generator: half the Laplacian. Each function gives the logarithm of the density with respect to
volume, to the precision of its input's dtype at every time and every distance. Two exact forms are
joined where both converge fast: the eigenfunction series, for large times, and its Poisson
transform, a sum over the windings of a geodesic, for small ones. The latter has the factor
$e^{-r^2 / 2s}$ written apart, so that nothing is lost where the density is tiny.

`xp` is numpy or jax.numpy: tables are made once, in float64, whatever JAX's precision.
"""

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

PI = math.pi
SERIES = 15  # terms: at the times of the joints the next one is below 1e-16


def circle(s: Any, r: Any, xp: Any = jnp) -> Any:
    r"""$\frac{1}{2 \pi} \sum_n e^{-n^2 s / 2} \cos n r
    = (2 \pi s)^{-1/2} \sum_k e^{-(r + 2 \pi k)^2 / 2s}$ (Jacobi's theta function)."""
    join = 2.0
    small, large = xp.minimum(s, join), xp.maximum(s, join)
    series = 1.0 + 2 * sum(xp.exp(-(n**2) * large / 2) * xp.cos(n * r) for n in range(1, 9))
    windings = sum(xp.exp(-2 * PI * k * (PI * k + r) / small) for k in (-2, -1, 1, 2))
    near = -(r**2) / (2 * small) - 0.5 * xp.log(2 * PI * small) + xp.log1p(windings)
    return xp.where(s < join, near, xp.log(series) - math.log(2 * PI))


def sphere(s: Any, r: Any, xp: Any = jnp) -> Any:
    r"""$\frac{1}{4 \pi} \sum_l (2 l + 1) e^{-l (l + 1) s / 2} P_l(\cos r)$, or `_sphere_near`."""
    single = r.dtype == np.float32
    join = 1.0 if single else 0.5
    series = _cosine_series(xp.maximum(s, join), r, _legendre(), xp)
    far = xp.log(xp.maximum(series, 1e-30)) - math.log(4 * PI)
    near = _sphere_near(xp.minimum(s, join), r, 6.0 if single else 8.5, xp)
    return xp.where(s < join, near, far)


def _cosine_series(s: Any, r: Any, cosines: np.ndarray, xp: Any) -> Any:
    r"""$\sum_l (2 l + 1) e^{-l (l + 1) s / 2} f_l(r)$, $f_l(r) = \sum_m$ `cosines[l, m]` cos m r.

    One sum over an axis of its own, not a recursion: a short program, quickly compiled.
    """
    n = np.arange(SERIES, dtype=r.dtype).reshape((1,) * r.ndim + (-1,))
    weights = (2 * n + 1) * xp.exp(-n * (n + 1) * s[..., None] / 2)
    with jax.default_matmul_precision("highest"):
        weights = weights @ cosines.astype(r.dtype)
    return xp.sum(weights * xp.cos(n * r[..., None]), axis=-1)


@cache
def _legendre() -> np.ndarray:
    r"""$P_l(\cos r) = \sum_k a_k a_{l - k} \cos (l - 2 k) r$, $a_k = \binom{2 k}{k} / 4^k$: none
    is negative, so nothing is lost."""
    a = [math.comb(2 * k, k) / 4**k for k in range(SERIES)]
    cosines = np.zeros((SERIES, SERIES))
    for n in range(SERIES):
        for k in range(n + 1):
            cosines[n, abs(n - 2 * k)] += a[k] * a[n - k]
    return cosines


@cache
def _dirichlet() -> np.ndarray:
    r"""$\sin((l + 1/2) \omega) / \sin(\omega / 2) = 1 + 2 \sum_{m = 1}^l \cos m \omega$."""
    cosines = 2 * np.tril(np.ones((SERIES, SERIES)))
    cosines[:, 0] = 1.0
    return cosines


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(32)
    return (x + 1) / 2, w / 2


def _sphere_near(s: Any, r: Any, reach: float, xp: Any) -> Any:
    r"""Small times, from the integral of Mehler and Dirichlet for $P_l$ and Poisson's formula:
    $p = \sqrt2 e^{s/8} (2 \pi s)^{-3/2} \int_r^{2 \pi - r} \phi e^{-\phi^2 / 2s}
    (\cos r - \cos \phi)^{-1/2} d\phi$.

    (Further windings are below $e^{-2 \pi^2 / s}$.) With $\phi^2 = r^2 + s w^2$ and
    $s w^2 = 4 \pi (\pi - r) \sin^2 \psi$ both singular ends vanish, and
    $p = \sqrt8 e^{s/8 - r^2 / 2s} (2 \pi s)^{-3/2} \int e^{-w^2 / 2}
    \sqrt{(2 \pi - r + \phi) h(b) / \mathrm{sinc}\, a}\, d\psi$,
    $a, b = (\phi \mp r) / 2$, $h(b) = b (\pi - b) / \sin b$, by 32 nodes up to w = `reach`.
    """
    x, weights = (values.astype(r.dtype) for values in _nodes())
    s, r = s[..., None], r[..., None]
    span = 4 * PI * (PI - r)
    top = xp.arcsin(xp.minimum(reach / xp.sqrt(xp.maximum(span / s, 1e-6)), 1.0))
    top = jax.lax.stop_gradient(top) if xp is jnp else top  # nothing is left beyond
    square = span * xp.sin(top * x.reshape((1,) * (r.ndim - 1) + (-1,))) ** 2
    phi = xp.sqrt(r**2 + square)
    b = (phi + r) / 2
    m = xp.minimum(b, PI - b)
    smooth = (2 * PI - r + phi) * (PI - m) / (xp.sinc(m / PI) * xp.sinc((phi - r) / (2 * PI)))
    values = xp.exp(-square / (2 * s)) * xp.sqrt(smooth)
    integral = top[..., 0] * xp.sum(values * weights.reshape((1,) * (r.ndim - 1) + (-1,)), axis=-1)
    s, r = s[..., 0], r[..., 0]
    scale = s / 8 - r**2 / (2 * s) - 1.5 * xp.log(2 * PI * s) + 0.5 * math.log(8)
    return scale + xp.log(integral)


def rotations(s: Any, r: Any, xp: Any = jnp) -> Any:
    r"""SO(3) with the metric of R^9: a rotation by $\omega$ is $r = \sqrt2 \omega$ away.

    $\frac{1}{8 \pi^2} \sum_l (2 l + 1) e^{-l (l + 1) \tau / 2}
    \frac{\sin (l + 1/2) \omega}{\sin \omega / 2}$ at the time $\tau = s / 2$ of the metric in which
    that distance is $\omega$ itself, and its Poisson transform.
    """
    join = 1.0
    tau, angle = s / 2, r / math.sqrt(2)
    small, large = xp.minimum(tau, join), xp.maximum(tau, join)
    series = _cosine_series(large, angle, _dirichlet(), xp)
    # The windings by one turn, in either sense, nearly cancel at the angle zero.
    one = (2 * PI - angle) * xp.exp(-2 * PI * (PI - angle) / small)
    one = one - (2 * PI + angle) * xp.exp(-2 * PI * (PI + angle) / small)
    limit = 2 * (4 * PI**2 / small - 1) * xp.exp(-2 * PI**2 / small)
    turning = xp.where(angle > 0, one / xp.where(angle > 0, angle, 1.0), limit)
    images = xp.log1p(turning) - xp.log(xp.sinc(angle / (2 * PI)) / 2)
    near = small / 8 - angle**2 / (2 * small) + 0.5 * math.log(2 * PI) - 1.5 * xp.log(small)
    log_sum = xp.where(tau < join, near + images, xp.log(xp.maximum(series, 1e-30)))
    return log_sum - math.log(8 * PI**2) - 1.5 * math.log(2)
