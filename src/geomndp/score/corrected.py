r"""A network that corrects the exact score of a Gaussian process.

For data close to $GP(m_0, K_0)$ the score $u_{GP} = -K D [A K_0 A + D K D]^{-1} (Y - \bar m)$,
$\bar m = m + A (m_0 - m)$, is most of the answer, and what few functions have to teach is the rest:
$u = u_{GP} + c$, the correction c by a network whose output is zero before it is trained.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from geomndp._types import Mask, Outputs, Values
from geomndp.gp import AbstractGP
from geomndp.linalg import per_point
from geomndp.noising import AbstractNoising
from geomndp.score.exact import GaussianScore
from geomndp.score.parametrisations import NoiseCoefficients


def in_float64(function, *args):
    """Call a function of arrays in float64, whatever JAX's default; its result in y's dtype.

    Near time zero A K_0 A + D K D has condition numbers of 1e6 and more, beyond float32.

    Args:
        function: Takes the arguments and returns arrays.
        *args: Trees with floating-point arrays, the last of them y.
    """
    dtype = args[-1].dtype
    if dtype == jnp.float64:
        return function(*args)
    with jax.enable_x64(True):
        result = function(*_cast(args, jnp.float64))
        return _cast(result, dtype)


def _cast(tree, dtype):
    def cast(leaf):
        real = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating)
        return leaf.astype(dtype) if real else leaf

    return jax.tree.map(cast, tree)


def base_fields(
    gp: AbstractGP,
    noising: AbstractNoising,
    at: NoiseCoefficients,
    t,
    x,
    y: Outputs,
    mask: Mask | None = None,
) -> Values:
    """What the network sees: the residual of the process, and the score of the process there.

    Args:
        gp: Gaussian process of the clean values, in the model's units.
        noising: Forward process.
        at: Its coefficients.
        t: Diffusion times, a scalar or (n,).
        x: Inputs (n, d).
        y: Noised values (n, p).
        mask: (n,), zero where a row is padding.

    Returns:
        (y - mean) / scale, then u / scale, (n, 2 p).
    """

    def mean_and_score(gp, noising, t, x, mask, y):
        score = GaussianScore(gp)
        return score.law(noising, t, x)[0], score(noising, t, x, y, mask)

    mean, u = in_float64(mean_and_score, gp, noising, per_point(t, len(x)), x, mask, y)
    return jnp.concatenate([(y - mean) / at.scale, u / at.scale], axis=1)
