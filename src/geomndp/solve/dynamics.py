r"""The score of one function's free points at one time, any context held at its own times.

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
    """Observed points that stay as they are, each at its own diffusion time."""

    x: Inputs
    y: Outputs
    t: Float[Array, " n"]
    mask: Mask | None = None


class AbstractDynamics(eqx.Module):
    """Free points x of one function, and the score u of their noised law."""

    noising: AbstractVar[AbstractNoising]
    x: AbstractVar[Inputs]
    mask: AbstractVar[Mask | None]

    @abc.abstractmethod
    def u(self, t: Scalar, y: Outputs) -> Outputs:
        """Score u of the free points at time t."""

    def clean(self, t: Scalar, y: Outputs, u: Outputs) -> Outputs:
        r"""Tweedie's mean of the clean values, $m + (y - m + \sigma u) / a$.

        On a manifold that is $\exp_y(\sigma u)$, right to first order in $\sigma^2$.
        """
        a, sigma, pull = self.noising.alpha(t), self.noising.sigma(t), self.pull(y)
        return self.noising.manifold.exp(y, (sigma * u - (1 - a) * pull) / a)

    def flow(self, t: Scalar, y: Outputs) -> Outputs:
        r"""Probability flow, $\frac12 \beta (m - y - u / \sigma)$; on a manifold without m - y."""
        drift = self.pull(y) - self.u(t, y) / self.noising.sigma(t)
        return zero_masked(0.5 * self.noising.schedule.beta(t) * drift, self.mask)

    def pull(self, y: Outputs) -> Outputs:
        """Direction in which values decay, m - y in flat space."""
        return self.noising.mean_reversion(self.x, y)

    def mean(self) -> Outputs:
        """Mean of the limiting law at the free points."""
        return self.noising.mean_at(self.x)

    def gram(self) -> AbstractGram:
        """Covariance of the limiting law at the free points."""
        return self.noising.gram(self.x, self.mask)

    def norm(self) -> Norm | None:
        """Norm that does not count masked points, None where there are none."""
        return None if self.mask is None else masked_rms(self.mask)


class ConditionalDynamics(AbstractDynamics):
    """The law that a score describes, given a context or none."""

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
