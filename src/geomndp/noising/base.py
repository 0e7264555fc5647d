r"""What every noising gives, in one vocabulary for flat space and manifolds.

After the integrated time $\Delta B$ the values y have become $e^{-c \Delta B} y$ with noise of
standard deviation `transition_std`; every step of a solver is an `exp` of the manifold, y + v in
flat space.
"""

import abc
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar, Times
from geomndp.geometry import AbstractManifold
from geomndp.kernels import AbstractKernel
from geomndp.linalg import AbstractGram
from geomndp.noising.schedule import AbstractSchedule

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class Perturbed(NamedTuple):
    """Noised values y, the noise xi whose mean given y is -u, and the white noise behind it.

    In flat space y = A y_0 + (1 - A) m + D xi with xi = S z.
    """

    y: Outputs
    xi: Outputs
    z: Outputs


class AbstractNoising(eqx.Module):
    """Noising of a function with values in a manifold."""

    schedule: AbstractVar[AbstractSchedule]
    kernel: AbstractVar[AbstractKernel]
    manifold: AbstractVar[AbstractManifold]

    @property
    def dim(self) -> int:
        """Number of outputs, the coordinates of a value."""
        return self.kernel.dim

    @abc.abstractmethod
    def log_mean_coefficient(self, integrated_time: Array) -> Array:
        """Logarithm of the factor that is left of values after an integrated time B(t) - B(s)."""

    @abc.abstractmethod
    def transition_std(self, integrated_time: Array) -> Array:
        """Standard deviation of the noise that came in that time, relative to K."""

    def alpha(self, t: Array) -> Array:
        """Factor that is left of the clean values, exp(-B/2) in flat space."""
        return jnp.exp(self.log_mean_coefficient(self.schedule.integral(t)))

    def sigma(self, t: Array) -> Array:
        """Standard deviation of the noise: u = sigma K grad log p at equal times."""
        return self.transition_std(self.schedule.integral(t))

    @abc.abstractmethod
    def mean_at(self, x: Inputs) -> Outputs:
        """Mean of the limiting law, in the coordinates of a value."""

    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance K of the noise."""
        return self.kernel.gram(x, mask)

    @abc.abstractmethod
    def mean_reversion(self, x: Inputs, y: Outputs) -> Outputs:
        """Direction in which values decay; the forward drift is half of it times beta."""

    @abc.abstractmethod
    def transition(self, integrated_time: Array, x: Inputs, y: Outputs, xi: Outputs) -> Outputs:
        """Values after an integrated time (a number, or one per point), from xi ~ N(0, K)."""

    @abc.abstractmethod
    def limit_from_noise(self, x: Inputs, xi: Outputs) -> Outputs:
        """Draw from the limiting law as a function of xi ~ N(0, K)."""

    @abc.abstractmethod
    def integrated_time_of_noise(self, x: Inputs, noise: Float[Array, " n"]) -> Float[Array, " n"]:
        """Integrated time after which clean values are as noisy as observations with `noise`."""

    @abc.abstractmethod
    def perturb(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Perturbed:
        """Draw noised values; zero in masked rows."""

    def diffuse(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Outputs:
        """Draw noised values alone."""
        return self.perturb(t, x, y0, key=key, mask=mask).y

    @abc.abstractmethod
    def prior_sample(self, x: Inputs, *, key: PRNGKeyArray, mask: Mask | None = None) -> Outputs:
        """Draw from the limiting law."""

    @abc.abstractmethod
    def prior_log_prob(self, x: Inputs, y: Outputs, mask: Mask | None = None) -> Scalar:
        """Log-density of the limiting law with respect to volume."""
