r"""Score parametrisations: five meanings of a network's output, each mapped to u = -E[xi | Y].

The first four are the paper's (its appendix on score parametrisations; the "predict Y_0" row
corrected). With F the output, v the limiting variance of a coordinate and
$g = F \sigma / (\sigma + 10^{-3})$:

| output | u | loss |
|---|---|---|
| score | K g / sqrt(v) | \|S^T g / sqrt(v) + z\|^2 |
| K | sqrt(v) g | \|u + S z\|^2 |
| S^T | S g, sigma in g the largest of all points | \|g + z\|^2 |
| predict Y_0 | -(Y - a Y_0^ - (1 - a) m) / sigma, Y_0^ = Y + sqrt(v) F | \|Y_0^ - Y_0\|^2 |
| velocity | -(sigma (Y - m) + a sqrt(v) F) | \|sqrt(v) F - (a xi - sigma (Y_0 - m))\|^2 |

The last keeps input, output and target at unit variance at every time when the limiting variance
is the data's (Salimans and Ho 2022; Karras et al. 2022).
"""

import abc
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Float, Inputs, Mask, Outputs, Times
from geomndp.linalg import AbstractGram, columns, per_point, zero_masked
from geomndp.noising import AbstractNoising, Perturbed

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

FLOOR = 1e-3  # of the paper's c_out = 1 / (sigma + FLOOR)


class NoiseCoefficients(NamedTuple):
    """The forward process at given times and inputs."""

    a: Float[Array, "n c"]
    """Factor of the clean values, (n, 1), or (n, p) where outputs have times of their own."""
    sigma: Float[Array, "n c"]
    """Standard deviation of the noise, relative to K."""
    mean: Outputs
    """Mean m of the limiting law."""
    gram: AbstractGram
    """Covariance K of the limiting law."""
    scale: Outputs
    """Standard deviations sqrt(v) of the limiting law."""
    output_scale: Float[Array, "n c"]
    """sigma / (sigma + FLOOR), zero for clean points."""


def noise_coefficients(
    noising: AbstractNoising, t: Times, x: Inputs, mask: Mask | None = None
) -> NoiseCoefficients:
    """Gather the coefficients that all parametrisations share.

    Args:
        noising: Forward process.
        t: Diffusion times, a scalar, (n,) or (n, g).
        x: Inputs (n, d).
        mask: (n,) or (n, g), zero where a value is padding or missing.
    """
    t = per_point(t, len(x))
    sigma, gram = columns(noising.sigma(t), noising.dim), noising.gram(x, mask)
    scale = jnp.sqrt(gram.diagonal())
    output_scale = sigma / (sigma + FLOOR)
    if mask is not None:  # the largest of the real values counts where one serves all
        wide = mask.ndim == 2 and output_scale.shape[1] == 1
        shape = (len(x), noising.dim if wide else output_scale.shape[1])
        output_scale = zero_masked(jnp.broadcast_to(output_scale, shape), mask)
    a = columns(noising.alpha(t), noising.dim)
    return NoiseCoefficients(a, sigma, noising.mean_at(x), gram, scale, output_scale)


def _safe_divide(numerator: Outputs, by: Float[Array, "n c"]) -> Outputs:
    """Divide by sigma or the output scale; zero where that is zero: a clean point has no noise."""
    return jnp.where(by > 0, numerator / jnp.where(by > 0, by, 1.0), 0.0)


class AbstractParametrisation(eqx.Module):
    """Meaning of a network's output.

    Attributes:
        separable: Whether the loss of a subset of points has the right minimiser there; if not, and
            the limiting kernel is not white, the mean square of the error must go over all points.
        supports_manifolds: Whether it holds on manifolds too, by the tangent parts of u and of the
            error.
    """

    separable: AbstractVar[bool]
    supports_manifolds = False

    @abc.abstractmethod
    def to_u(self, at: NoiseCoefficients, y: Outputs, output: Outputs) -> Outputs:
        """Score u from the output.

        Args:
            at: Coefficients of the forward process.
            y: Noised values (n, p).
            output: Output of the network (n, p).
        """

    @abc.abstractmethod
    def from_u(self, at: NoiseCoefficients, y: Outputs, u: Outputs) -> Outputs:
        """Output that stands for u: `to_u` gives it back at points of positive time.

        Args:
            at: Coefficients of the forward process.
            y: Noised values (n, p).
            u: Score (n, p).
        """

    @abc.abstractmethod
    def error(
        self, at: NoiseCoefficients, y0: Outputs, perturbed: Perturbed, output: Outputs
    ) -> Outputs:
        """Residual whose mean square is the loss.

        Args:
            at: Coefficients of the forward process.
            y0: Clean values (n, p).
            perturbed: Noised values with their noise.
            output: Output of the network (n, p).
        """


class PredictScore(AbstractParametrisation):
    """Predict grad log p."""

    separable = False

    def to_u(self, at, y, output):
        return at.gram.mv(at.output_scale * output / at.scale)

    def from_u(self, at, y, u):
        return _safe_divide(at.gram.solve(u) * at.scale, at.output_scale)

    def error(self, at, y0, perturbed, output):
        return at.gram.root_mv(at.output_scale * output / at.scale) + perturbed.z


class PreconditionK(AbstractParametrisation):
    """Predict K grad log p: the noise itself (epsilon-prediction). On a manifold, -xi."""

    separable = True
    supports_manifolds = True

    def to_u(self, at, y, output):
        return at.output_scale * at.scale * output

    def from_u(self, at, y, u):
        return _safe_divide(u / at.scale, at.output_scale)

    def error(self, at, y0, perturbed, output):
        return self.to_u(at, perturbed.y, output) + perturbed.xi


class PreconditionRoot(AbstractParametrisation):
    """Predict S^T grad log p: the white noise z before its root S.

    S mixes the white noise of all points, so that a point at time zero still has some to predict,
    and one output scale must serve all points.
    """

    separable = False

    def _white(self, at, output):
        return jnp.max(at.output_scale) * output

    def to_u(self, at, y, output):
        return at.gram.root_mv(self._white(at, output))

    def from_u(self, at, y, u):
        return at.gram.root_solve(u) / jnp.max(at.output_scale)

    def error(self, at, y0, perturbed, output):
        return self._white(at, output) + perturbed.z


class PredictData(AbstractParametrisation):
    """Predict the clean values, as a correction of the noised ones (x_0-prediction)."""

    separable = True

    def _clean(self, at, y, output):
        return y + at.scale * output

    def to_u(self, at, y, output):
        clean = self._clean(at, y, output)
        return _safe_divide(at.mean + at.a * (clean - at.mean) - y, at.sigma)

    def from_u(self, at, y, u):
        clean = at.mean + (y - at.mean + at.sigma * u) / at.a
        return (clean - y) / at.scale

    def error(self, at, y0, perturbed, output):
        return self._clean(at, perturbed.y, output) - y0


class Velocity(AbstractParametrisation):
    """Predict a xi - sigma (y_0 - m) (v-prediction).

    Args:
        relative: Whether the error is relative to the limiting standard deviation, so that points
            of small variance count as much as others in the loss.
    """

    relative: bool = eqx.field(default=False, static=True)
    separable = True

    def to_u(self, at, y, output):
        return -(at.sigma * (y - at.mean) + at.a * at.scale * output)

    def from_u(self, at, y, u):
        return -(u + at.sigma * (y - at.mean)) / (at.a * at.scale)

    def error(self, at, y0, perturbed, output):
        target = at.a * perturbed.xi - at.sigma * (y0 - at.mean)
        return output - target / at.scale if self.relative else at.scale * output - target


PARAMETRISATIONS = {
    "none": PredictScore,
    "K": PreconditionK,
    "root": PreconditionRoot,
    "data": PredictData,
    "velocity": Velocity,
}
"""All parametrisations, by the names of experiments."""
