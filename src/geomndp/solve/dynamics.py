r"""Reverse-time dynamics of the free points of one function, given a context or none.

With the context at time zero (or, for noisy observations, at the small time whose noise is the
observation's) the score of the free points is that of their conditional law: $u_* = -E[\xi_* | Y]$
is exact for any limiting kernel, since $\xi_*$ keeps its law given the context.
"""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Float, Inputs, Mask, Outputs, Scalar
from geomndp.linalg import AbstractGram, join_masks, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore
from geomndp.solve.integrators import Norm, masked_rms

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class Context(eqx.Module):
    """Context points, fixed, each at its own diffusion time.

    Attributes:
        x: Inputs (n, d).
        y: Values (n, p), noised up to the times `t`.
        t: Diffusion times (n,), zero for values without noise.
        mask: 1 for a real point, 0 for padding, shape (n,); None where all are real.
    """

    x: Inputs
    y: Outputs
    t: Float[Array, " n"]
    mask: Mask | None = None


class AbstractDynamics(eqx.Module):
    r"""Free points of one function, and the score of their noised law.

    The score is $u = \sigma K \nabla \log p_t$. Reverse steps and the probability flow follow it.

    Attributes:
        noising: Forward process.
        x: Inputs (n, d) of the free points.
        mask: 1 for a real point, 0 for padding, shape (n,); None where all are real.
    """

    noising: AbstractVar[AbstractNoising]
    x: AbstractVar[Inputs]
    mask: AbstractVar[Mask | None]

    @abc.abstractmethod
    def u(self, t: Scalar, y: Outputs) -> Outputs:
        """Score u of the free points.

        Args:
            t: Diffusion time.
            y: Noised values (n, p) at that time.

        Returns:
            Score, shape (n, p).
        """

    def clean(self, t: Scalar, y: Outputs, u: Outputs) -> Outputs:
        r"""Tweedie's mean of the clean values, $m + (y - m + \sigma u) / a$.

        On a manifold that is $\exp_y(\sigma u)$, right to first order in $\sigma^2$.

        Args:
            t: Diffusion time.
            y: Noised values (n, p).
            u: Score there, shape (n, p).

        Returns:
            Estimate of the clean values, shape (n, p).
        """
        a, sigma = self.noising.alpha(t), self.noising.sigma(t)
        v = (sigma * u - (1 - a) * self.mean_reversion(y)) / a
        return self.noising.manifold.exp(y, v)

    def flow(self, t: Scalar, y: Outputs) -> Outputs:
        r"""Velocity of the probability flow, $\frac12 \beta (m - y - u / \sigma)$.

        On a manifold it is without m - y.

        Args:
            t: Diffusion time.
            y: Noised values (n, p).

        Returns:
            Velocity dy/dt, shape (n, p), zero at masked points.
        """
        drift = self.mean_reversion(y) - self.u(t, y) / self.noising.sigma(t)
        return zero_masked(0.5 * self.noising.schedule.beta(t) * drift, self.mask)

    def mean_reversion(self, y: Outputs) -> Outputs:
        """Direction (n, p) in which values decay: m - y in flat space."""
        return self.noising.mean_reversion(self.x, y)

    def mean(self) -> Outputs:
        """Mean (n, p) of the limiting law at the free points."""
        return self.noising.mean_at(self.x)

    def gram(self) -> AbstractGram:
        """Covariance operator of the limiting law at the free points."""
        return self.noising.gram(self.x, self.mask)

    def norm(self) -> Norm | None:
        """Norm for error control that does not count masked points, None where there are none."""
        return None if self.mask is None else masked_rms(self.mask)


class ConditionalDynamics(AbstractDynamics):
    """Dynamics of the free points under a score, given a context or none.

    Attributes:
        noising: Forward process.
        score: Score of all points, each at its own time.
        x: Inputs (n, d) of the free points.
        mask: 1 for a real point, 0 for padding, shape (n,); None where all are real.
        context: Fixed points; None for the unconditional law.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    mask: Mask | None = None
    context: Context | None = None

    def u(self, t, y):
        context = self.context
        if context is None:
            return self.score(self.noising, t, self.x, y, self.mask)
        n = len(context.x)
        times = jnp.concatenate([context.t, jnp.broadcast_to(t, (len(self.x),))])
        mask = join_masks(context.mask, self.mask, n, len(self.x), y.dtype)
        x, y = jnp.concatenate([context.x, self.x]), jnp.concatenate([context.y, y])
        return self.score(self.noising, times, x, y, mask)[n:]
