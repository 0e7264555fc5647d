"""The learnt score: a network and the meaning of its output."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx

from geomndp import _validation
from geomndp._types import Mask, Outputs
from geomndp.linalg import per_point, row_mask, zero_masked
from geomndp.nets import AbstractNet
from geomndp.noising import Perturbed
from geomndp.score.base import AbstractScore
from geomndp.score.parametrisations import AbstractParametrisation, Velocity, noise_coefficients


class NetworkScore(AbstractScore):
    """A network that sees values of the limiting law's unit variance, and a parametrisation.

    On a manifold the network sees coordinates as they are, and the tangent part of its output is
    used.

    Args:
        net: `net(t, x, y, mask)` -> (n, p), one of `gn.nets` or any function.
        parametrisation: Meaning of its output.
        conditional: Whether the network was trained with contexts at times of their own.

    Example:
        `gn.score.NetworkScore(gn.nets.RelativeAttention(1, 1, key=jr.key(0)))`
    """

    net: Callable
    parametrisation: AbstractParametrisation = Velocity()
    conditional: bool = eqx.field(default=False, static=True)

    @property
    def pads(self) -> bool:
        """True of `AbstractNet`, whose contract it is; of other functions nothing is known."""
        return isinstance(self.net, AbstractNet)

    @property
    def num_groups(self) -> int:
        """That of the network."""
        return self.net.num_groups if isinstance(self.net, AbstractNet) else 1

    def net_inputs(self, noising, t, x, y, mask=None):
        """Arguments (t, x, y, mask) of the network: one time per point, values of unit scale."""
        t, x = per_point(t, len(x)), zero_masked(x, row_mask(mask))
        at = noise_coefficients(noising, t, x, mask)
        return t, x, (y - at.mean) / at.scale, mask

    def __call__(self, noising, t, x, y, mask=None):
        _validation.shapes(x, y, dim=noising.dim, mask=mask)
        self._check_parametrisation(noising)
        output = self.net(*self.net_inputs(noising, t, x, y, mask))
        at = noise_coefficients(noising, per_point(t, len(x)), zero_masked(x, row_mask(mask)), mask)
        u = self.parametrisation.to_u(at, y, output)
        return zero_masked(noising.manifold.project(y, u), mask)

    def error(
        self,
        noising,
        t,
        x,
        y0: Outputs,
        perturbed: Perturbed,
        mask: Mask | None = None,
        output: Outputs | None = None,
    ) -> Outputs:
        """Residual of the denoising loss at every point, in the parametrisation's own metric.

        Args:
            noising: Forward process.
            t: Diffusion times, a scalar, (n,) or (n, g).
            x: Inputs (n, d).
            y0: Clean values (n, p).
            perturbed: Noised values with their noise.
            mask: (n,) or (n, g), zero where a value is padding or missing.
            output: Output of the network, if it was computed elsewhere.

        Returns:
            Errors (n, p), whose mean square is the loss.
        """
        _validation.shapes(x, y0, dim=noising.dim, mask=mask)
        self._check_parametrisation(noising)
        inputs = self.net_inputs(noising, t, x, perturbed.y, mask)
        values: Outputs = self.net(*inputs) if output is None else output
        at = noise_coefficients(noising, per_point(t, len(x)), zero_masked(x, row_mask(mask)), mask)
        error = self.parametrisation.error(at, y0, perturbed, values)
        return noising.manifold.project(perturbed.y, error)

    def _check_parametrisation(self, noising) -> None:
        if not noising.manifold.flat and not self.parametrisation.supports_manifolds:
            name = type(self.parametrisation).__name__
            raise ValueError(f"expected PreconditionK on a manifold, got {name}")
