r"""What a network's output means: five interchangeable pieces, each mapped to u = -E[xi | Y].

The first four are the paper's (its appendix on score parametrisations; the "predict Y_0" row
corrected). With F the output, v the limiting variance of a coordinate and
$g = F \sigma / (\sigma + 10^{-3})$:

| piece | u | loss |
|---|---|---|
| none | K g / sqrt(v) | \|S^T g / sqrt(v) + z\|^2 |
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
from geomndp.linalg import AbstractGram, per_point
from geomndp.noising import AbstractNoising, Perturbed

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

FLOOR = 1e-3  # of the paper's c_out = 1 / (sigma + FLOOR)


class NoiseCoefficients(NamedTuple):
    """Noising at given times and inputs, everything as (n, 1) or (n, p)."""

    a: Float[Array, "n 1"]
    sigma: Float[Array, "n 1"]
    mean: Outputs
    gram: AbstractGram
    scale: Outputs
    output_scale: Float[Array, "n 1"]


def noise_coefficients(
    noising: AbstractNoising, t: Times, x: Inputs, mask: Mask | None = None
) -> NoiseCoefficients:
    """Gather the coefficients that all parametrisations share."""
    t = per_point(t, len(x))
    sigma, gram = noising.sigma(t)[:, None], noising.gram(x, mask)
    scale = jnp.sqrt(gram.diagonal())
    output_scale = sigma / (sigma + FLOOR)
    return NoiseCoefficients(
        noising.alpha(t)[:, None], sigma, noising.mean_at(x), gram, scale, output_scale
    )


def _safe_divide(numerator: Outputs, by: Float[Array, "n 1"]) -> Outputs:
    """Divide by sigma or the output scale; zero where that is zero: a clean point has no noise."""
    return jnp.where(by > 0, numerator / jnp.where(by > 0, by, 1.0), 0.0)


class AbstractParametrisation(eqx.Module):
    """Meaning of a network's output.

    `separable` says whether the loss of some points alone has the right minimiser there; if not,
    and the limiting kernel is not white, the mean square of the error must go over all points.
    """

    separable: AbstractVar[bool]
    supports_manifolds = False
    """Whether it holds on manifolds too, where the tangent part of u and of the error counts."""

    @abc.abstractmethod
    def to_u(self, at: NoiseCoefficients, y: Outputs, output: Outputs) -> Outputs:
        """Score u from the output."""

    @abc.abstractmethod
    def from_u(self, at: NoiseCoefficients, y: Outputs, u: Outputs) -> Outputs:
        """Output that stands for u: `to_u` gives it back at points of positive time."""

    @abc.abstractmethod
    def error(
        self, at: NoiseCoefficients, y0: Outputs, noised: Perturbed, output: Outputs
    ) -> Outputs:
        """Residual whose mean square is the loss."""


class PredictScore(AbstractParametrisation):
    """Predict grad log p."""

    separable = False

    def to_u(self, at, y, output):
        return at.gram.mv(at.output_scale * output / at.scale)

    def from_u(self, at, y, u):
        return _safe_divide(at.gram.solve(u) * at.scale, at.output_scale)

    def error(self, at, y0, noised, output):
        return at.gram.root_mv(at.output_scale * output / at.scale) + noised.z


class PreconditionK(AbstractParametrisation):
    """Predict K grad log p: the noise itself. On a manifold, -xi: u of unit scale."""

    separable = True
    supports_manifolds = True

    def to_u(self, at, y, output):
        return at.output_scale * at.scale * output

    def from_u(self, at, y, u):
        return _safe_divide(u / at.scale, at.output_scale)

    def error(self, at, y0, noised, output):
        return self.to_u(at, noised.y, output) + noised.xi


class PreconditionRoot(AbstractParametrisation):
    """Predict S^T grad log p: the white noise before its root.

    S spreads the white noise of one point over others, so that a point at time zero still has
    some to predict, and one output scale must serve all points.
    """

    separable = False

    def _white(self, at, output):
        return jnp.max(at.output_scale) * output

    def to_u(self, at, y, output):
        return at.gram.root_mv(self._white(at, output))

    def from_u(self, at, y, u):
        return at.gram.root_solve(u) / jnp.max(at.output_scale)

    def error(self, at, y0, noised, output):
        return self._white(at, output) + noised.z


class PredictData(AbstractParametrisation):
    """Predict the clean values, as a correction of the noised ones."""

    separable = True

    def _clean(self, at, y, output):
        return y + at.scale * output

    def to_u(self, at, y, output):
        clean = self._clean(at, y, output)
        return _safe_divide(at.mean + at.a * (clean - at.mean) - y, at.sigma)

    def from_u(self, at, y, u):
        clean = at.mean + (y - at.mean + at.sigma * u) / at.a
        return (clean - y) / at.scale

    def error(self, at, y0, noised, output):
        return self._clean(at, noised.y, output) - y0


class Velocity(AbstractParametrisation):
    """Predict a xi - sigma (y_0 - m)."""

    separable = True

    def to_u(self, at, y, output):
        return -(at.sigma * (y - at.mean) + at.a * at.scale * output)

    def from_u(self, at, y, u):
        return -(u + at.sigma * (y - at.mean)) / (at.a * at.scale)

    def error(self, at, y0, noised, output):
        target = at.a * noised.xi - at.sigma * (y0 - at.mean)
        return at.scale * output - target


PARAMETRISATIONS = {
    "none": PredictScore,
    "K": PreconditionK,
    "root": PreconditionRoot,
    "data": PredictData,
    "velocity": Velocity,
}
