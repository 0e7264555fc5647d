"""The learnt score: a network and the meaning of its output."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx

from geomndp import _validation
from geomndp._types import Mask, Outputs
from geomndp.linalg import per_point, zero_masked
from geomndp.nets import AbstractNet
from geomndp.noising import Perturbed
from geomndp.score.base import AbstractScore
from geomndp.score.parametrisations import AbstractParametrisation, Velocity, noise_coefficients


class NetworkScore(AbstractScore):
    """`net(t, x, y, mask)` sees values scaled to the limiting law's unit variance.

    On a manifold it sees their coordinates as they are, and the tangent part of its output counts.

    `conditional` is true once the network was trained with contexts at their own times.
    """

    net: Callable
    parametrisation: AbstractParametrisation = Velocity()
    conditional: bool = eqx.field(default=False, static=True)

    @property
    def pads(self) -> bool:
        """Networks of geomndp's kind keep the promise; of other functions nothing is known."""
        return isinstance(self.net, AbstractNet)

    def net_inputs(self, noising, t, x, y, mask=None):
        """Arguments of the network: times of every point, values of unit scale."""
        t, x = per_point(t, len(x)), zero_masked(x, mask)
        at = noise_coefficients(noising, t, x, mask)
        return t, x, (y - at.mean) / at.scale, mask

    def __call__(self, noising, t, x, y, mask=None):
        _validation.shapes(x, y, dim=noising.dim, mask=mask)
        self._check_parametrisation(noising)
        output = self.net(*self.net_inputs(noising, t, x, y, mask))
        at = noise_coefficients(noising, per_point(t, len(x)), zero_masked(x, mask), mask)
        u = self.parametrisation.to_u(at, y, output)
        return zero_masked(noising.manifold.project(y, u), mask)

    def error(
        self,
        noising,
        t,
        x,
        y0: Outputs,
        noised: Perturbed,
        mask: Mask | None = None,
        output: Outputs | None = None,
    ) -> Outputs:
        """Residual of the denoising loss at every point, in the parametrisation's own metric.

        `output` is that of the network if it was computed elsewhere.
        """
        _validation.shapes(x, y0, dim=noising.dim, mask=mask)
        self._check_parametrisation(noising)
        inputs = self.net_inputs(noising, t, x, noised.y, mask)
        values: Outputs = self.net(*inputs) if output is None else output
        at = noise_coefficients(noising, per_point(t, len(x)), zero_masked(x, mask), mask)
        error = self.parametrisation.error(at, y0, noised, values)
        return noising.manifold.project(noised.y, error)

    def _check_parametrisation(self, noising) -> None:
        if not noising.manifold.flat and not self.parametrisation.supports_manifolds:
            name = type(self.parametrisation).__name__
            raise ValueError(f"expected PreconditionK on a manifold, got {name}")
