"""The learnt score: a network and the meaning of its output."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp

from geomndp import _checks
from geomndp._linalg import zero_masked
from geomndp._types import Mask, Outputs
from geomndp.noising import Perturbed, per_point
from geomndp.score.base import AbstractScore
from geomndp.score.parametrise import AbstractParametrisation, Moment, Velocity, moment


class NetworkScore(AbstractScore):
    """`net(t, x, y, mask)` sees values scaled to the limiting law's unit variance.

    `conditional` is true once the network was trained with contexts at their own times.
    """

    net: Callable
    parametrisation: AbstractParametrisation = Velocity()
    conditional: bool = eqx.field(default=False, static=True)

    def _output(self, at: Moment, t, x, y, mask) -> Outputs:
        mask = jnp.ones(len(x), dtype=y.dtype) if mask is None else mask
        return self.net(t, x, (y - at.mean) / at.scale, mask)

    def __call__(self, noising, t, x, y, mask=None):
        _checks.shapes(x, y, dim=noising.dim, mask=mask)
        t, x = per_point(t, len(x)), zero_masked(x, mask)
        at = moment(noising, t, x, mask)
        u = self.parametrisation.to_u(at, y, self._output(at, t, x, y, mask))
        return zero_masked(u, mask)

    def error(
        self, noising, t, x, y0: Outputs, noised: Perturbed, mask: Mask | None = None
    ) -> Outputs:
        """Residual of the denoising loss at every point, in the parametrisation's own metric."""
        _checks.shapes(x, y0, dim=noising.dim, mask=mask)
        t, x = per_point(t, len(x)), zero_masked(x, mask)
        at = moment(noising, t, x, mask)
        output = self._output(at, t, x, noised.y, mask)
        return self.parametrisation.error(at, y0, noised, output)
