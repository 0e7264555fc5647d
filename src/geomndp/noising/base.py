r"""What every forward process gives, in flat space and on manifolds alike.

After the integrated time $\Delta B$ the values y have become $e^{-c \Delta B} y$ with noise of
standard deviation `transition_std`; every step of a solver is an `exp` of the manifold, y + v in
flat space.
"""

import abc
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._arrays import bucket, pad_rows
from geomndp._deprecated import renamed_attribute
from geomndp._types import Array, Inputs, Mask, Outputs, PerPoint, PRNGKeyArray, Scalar, Times
from geomndp.geometry import AbstractManifold
from geomndp.kernels import AbstractKernel
from geomndp.linalg import AbstractGram
from geomndp.noising.schedule import AbstractSchedule

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class Perturbed(NamedTuple):
    """A draw of the forward process: in flat space y = A y_0 + (1 - A) m + D xi with xi = S z."""

    y: Outputs
    """Noised values (n, p)."""
    xi: Outputs
    """Noise whose mean given y is -u, (n, p)."""
    z: Outputs
    """White noise from which it was made, (n, p)."""


class AbstractNoising(eqx.Module):
    """Forward process of functions with values in a manifold.

    Attributes:
        schedule: Rate of noising over diffusion time.
        kernel: Covariance K of the noise.
        manifold: Where values lie.
    """

    schedule: AbstractVar[AbstractSchedule]
    kernel: AbstractVar[AbstractKernel]
    manifold: AbstractVar[AbstractManifold]

    log_decay = renamed_attribute("log_mean_coefficient")
    spread = renamed_attribute("transition_std")
    pull = renamed_attribute("mean_reversion")
    noised = renamed_attribute("transition")
    limit = renamed_attribute("limit_from_noise")
    time_of = renamed_attribute("integrated_time_of_noise")

    @property
    def dim(self) -> int:
        """Number of outputs p, the coordinates of a value."""
        return self.kernel.dim

    @abc.abstractmethod
    def log_mean_coefficient(self, integrated_time: Array) -> Array:
        """Logarithm of the factor by which values shrink towards their mean.

        Args:
            integrated_time: B(t) - B(s) >= 0, of any shape.
        """

    @abc.abstractmethod
    def transition_std(self, integrated_time: Array) -> Array:
        """Standard deviation of the noise that is added, relative to K.

        Args:
            integrated_time: B(t) - B(s) >= 0, of any shape.
        """

    @property
    def flat(self) -> bool:
        """Whether values lie in R^p itself."""
        return self.manifold.flat

    def alpha(self, t: Array) -> Array:
        """Factor of the clean values in the noised ones, exp(-B/2) in flat space.

        Args:
            t: Diffusion times in [0, 1], of any shape.
        """
        return jnp.exp(self.log_mean_coefficient(self.schedule.integral(t)))

    def sigma(self, t: Array) -> Array:
        """Standard deviation of the noise: u = sigma K grad log p at equal times.

        Args:
            t: Diffusion times in [0, 1], of any shape.
        """
        return self.transition_std(self.schedule.integral(t))

    @abc.abstractmethod
    def mean_at(self, x: Inputs) -> Outputs:
        """Mean m of the limiting law, (n, p), at inputs x (n, d)."""

    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance K of the noise at inputs x (n, d); masked values are apart from the others."""
        return self.kernel.gram(x, mask)

    @abc.abstractmethod
    def mean_reversion(self, x: Inputs, y: Outputs) -> Outputs:
        """Direction of the forward drift, m - y in flat space; the drift is beta / 2 times it.

        Args:
            x: Inputs (n, d).
            y: Values (n, p).
        """

    @abc.abstractmethod
    def transition(self, integrated_time: Array, x: Inputs, y: Outputs, xi: Outputs) -> Outputs:
        """Values after more noising, as a function of its noise.

        Args:
            integrated_time: B(t) - B(s) >= 0, a scalar, (n,) or (n, g).
            x: Inputs (n, d).
            y: Values (n, p) at time s.
            xi: Noise (n, p), a draw of N(0, K).

        Returns:
            Values (n, p) at time t.
        """

    @abc.abstractmethod
    def limit_from_noise(self, x: Inputs, xi: Outputs) -> Outputs:
        """Draw of the limiting law as a function of its noise.

        Args:
            x: Inputs (n, d).
            xi: Noise (n, p), a draw of N(0, K).
        """

    @abc.abstractmethod
    def integrated_time_of_noise(self, x: Inputs, noise: PerPoint) -> PerPoint:
        """Integrated time after which clean values are as noisy as observations.

        Args:
            x: Inputs (n, d).
            noise: Noise variances (n,), or (n, g) per group of outputs, of the observations.

        Returns:
            B(t), one per variance.

        Raises:
            ValueError: If the noise of the process is not independent per point.
        """

    def check_noise(self, x: Inputs, noise: PerPoint) -> None:
        """Refuse noise of observations that has no diffusion time.

        Args:
            x: Inputs (n, d).
            noise: Noise variances (n,) or (n, g); where JAX traces them nothing is known.

        Raises:
            ValueError: If the limiting kernel is not white, or there is more noise than the
                process has at the end.
        """
        if not self.kernel.white:
            raise ValueError(
                "expected a white limiting kernel for observation noise in amortised conditioning, "
                f"got {type(self.kernel).__name__}; use Langevin or MomentMatching"
            )
        if not all(map(_validation.concrete, (x, noise))):
            return
        x, noise = (pad_rows(values, bucket(len(x))) for values in (x, noise))
        total = self.schedule.integral(jnp.ones((), dtype=noise.dtype))
        level = jnp.max(self.integrated_time_of_noise(x, noise))
        # Inside jit even what is concrete is staged.
        if _validation.concrete(level) and level > total:
            most, got = (
                (self.transition_std(b) / jnp.exp(self.log_mean_coefficient(b))) ** 2
                for b in (total, level)
            )
            raise ValueError(
                f"expected noise at most {float(most):.3g} times the limiting "
                f"variance, got {float(got):.3g} times"
            )

    @abc.abstractmethod
    def perturb(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Perturbed:
        """Draw noised values with the noise in them.

        Args:
            t: Diffusion times in [0, 1], a scalar, (n,), or (n, g) per group of outputs.
            x: Inputs (n, d).
            y0: Clean values (n, p).
            key: Random key.
            mask: (n,) or (n, g), zero where a value is padding or missing; such values come back
                as zeros.
        """

    def diffuse(
        self, t: Times, x: Inputs, y0: Outputs, *, key: PRNGKeyArray, mask: Mask | None = None
    ) -> Outputs:
        """Draw noised values (n, p) alone; arguments as those of `perturb`."""
        return self.perturb(t, x, y0, key=key, mask=mask).y

    @abc.abstractmethod
    def prior_sample(self, x: Inputs, *, key: PRNGKeyArray, mask: Mask | None = None) -> Outputs:
        """Draw from the limiting law.

        Args:
            x: Inputs (n, d).
            key: Random key.
            mask: (n,) or (n, g), zero where a value is padding or missing.

        Returns:
            Values (n, p).
        """

    @abc.abstractmethod
    def prior_log_prob(self, x: Inputs, y: Outputs, mask: Mask | None = None) -> Scalar:
        """Log-density of the limiting law with respect to volume, in nats.

        Args:
            x: Inputs (n, d).
            y: Values (n, p).
            mask: (n,) or (n, g), zero where a value does not count.
        """
