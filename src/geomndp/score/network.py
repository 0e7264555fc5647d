"""The learnt score: a network and the meaning of its output."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax

from geomndp import _validation
from geomndp._types import Mask, Outputs, PRNGKeyArray, Values
from geomndp.gp import AbstractGP
from geomndp.linalg import per_point, row_mask, zero_masked
from geomndp.nets import AbstractNet, has_target_times, toward
from geomndp.noising import Perturbed
from geomndp.score.base import AbstractScore
from geomndp.score.corrected import base_fields
from geomndp.score.flow_map import flow_velocity, follow_flow
from geomndp.score.parametrisations import (
    AbstractParametrisation,
    NoiseCoefficients,
    Velocity,
    noise_coefficients,
)


class NetworkScore(AbstractScore):
    """A network that sees values of the limiting law's unit variance, and a parametrisation.

    On a manifold the network sees coordinates as they are, and the tangent part of its output is
    used.

    Args:
        net: `net(t, x, y, mask)` -> (n, p), one of `gn.nets` or any function.
        parametrisation: Meaning of its output.
        conditional: Whether the network was trained with contexts at times of their own.
        base: A Gaussian process of the clean values (in the units of y, flat space), whose exact
            score the network corrects: u = u_base + correction. It is not trained. The network
            sees the residual (y - mean) of the base and u_base, `num_input_fields=2`; untrained,
            when its output is zero, the score is the base's.
        prepared: What the network knows of the points of all calls: see `with_prepared`.

    Raises:
        ValueError: If the network does not take the fields that it would get.

    Example:
        `gn.score.NetworkScore(gn.nets.RelativeAttention(1, 1, key=jr.key(0)))`
    """

    net: Callable
    parametrisation: AbstractParametrisation = Velocity()
    conditional: bool = eqx.field(default=False, static=True)
    base: AbstractGP | None = None
    prepared: Any = None

    def __check_init__(self):
        expected = 1 if self.base is None else 2
        if not isinstance(self.net, AbstractNet):
            return
        if (got := self.net.value_dim // self.net.output_dim) != expected:
            base = "without" if self.base is None else "with"
            raise ValueError(f"expected num_input_fields={expected} {base} a base, got {got}")

    def with_base(
        self, base: AbstractGP, *, key: PRNGKeyArray, **net_options: Any
    ) -> "NetworkScore":
        """An untrained network of the same configuration that corrects a Gaussian process.

        Args:
            base: The process, in the units of y.
            key: Random key of the network's parameters.
            **net_options: Options of the network's configuration to change, such as `width`.

        Raises:
            ValueError: If the network cannot take the score of the process beside the values.

        Example:
            `gn.score.NetworkScore(net).with_base(gn.gp.GP(kernel, noise=0.01), key=jr.key(0))`
        """
        net = self.net
        if not isinstance(net, AbstractNet) or not hasattr(net.config, "num_input_fields"):
            name = type(net).__name__
            raise ValueError(f"expected a network with num_input_fields to correct, got {name}")
        config = net.config.replace(num_input_fields=2, **net_options)
        make = cast(Callable[..., AbstractNet], type(net))
        net = make(**config.to_dict(), key=key)
        return dataclasses.replace(self, net=net, base=base)

    @property
    def trainable(self) -> "NetworkScore":
        """A tree like the score, true where a leaf is trained: arrays of floats but the base's."""
        floats = jax.tree.map(eqx.is_inexact_array, self)
        if self.base is None:
            return floats
        frozen = jax.tree.map(lambda _: False, self.base)
        return eqx.tree_at(lambda score: score.base, floats, frozen)

    @property
    def pads(self) -> bool:
        """True of `AbstractNet`, whose contract it is; of other functions nothing is known."""
        return isinstance(self.net, AbstractNet)

    @property
    def num_groups(self) -> int:
        """That of the network."""
        return self.net.num_groups if isinstance(self.net, AbstractNet) else 1

    def net_inputs(self, noising, t, x, y, mask=None):
        """Arguments (t, x, y, mask) of the network: one time per point, values of unit scale.

        With a base, y is its residual, and beside it stands its score, (n, 2 p).
        """
        t, x = per_point(t, len(x)), zero_masked(x, row_mask(mask))
        at = noise_coefficients(noising, t, x, mask)
        if self.base is None:
            return t, x, (y - at.mean) / at.scale, mask
        self._check_parametrisation(noising)
        return t, x, base_fields(self.base, noising, at, t, x, y, mask), mask

    def prepare(self, x, mask=None):
        return self.net.prepare(x, mask) if isinstance(self.net, AbstractNet) else None

    def with_prepared(self, prepared):
        return dataclasses.replace(self, prepared=prepared)

    def _output(self, inputs: tuple) -> Outputs:
        """Output of the network."""
        if self.prepared is None:
            return self.net(*inputs)
        assert isinstance(self.net, AbstractNet)
        return self.net.call_prepared(self.prepared, *inputs)

    def _corrected(
        self, at: NoiseCoefficients, y, values: Values | None, output: Outputs
    ) -> Outputs:
        """Output that stands for the score: the network's, added to that of the base's score."""
        if self.base is None or values is None:
            return output
        return output + self.parametrisation.from_u(at, y, at.scale * values[:, y.shape[1] :])

    def __call__(self, noising, t, x, y, mask=None):
        _validation.shapes(x, y, dim=noising.dim, mask=mask)
        self._check_parametrisation(noising)
        inputs = self.net_inputs(noising, t, x, y, mask)
        at = noise_coefficients(noising, per_point(t, len(x)), zero_masked(x, row_mask(mask)), mask)
        output = self._corrected(at, y, inputs[2], self._output(inputs))
        u = self.parametrisation.to_u(at, y, output)
        return zero_masked(u if noising.flat else noising.manifold.project(y, u), mask)

    @property
    def has_flow_map(self) -> bool:
        """Whether the network has target times."""
        return has_target_times(self.net)

    def flow_map(self, noising, t, s, x, y, mask=None):
        if not self.has_flow_map or not isinstance(self.net, AbstractNet):
            return super().flow_map(noising, t, s, x, y, mask)
        n, real_x = len(x), zero_masked(x, row_mask(mask))
        mean_score = dataclasses.replace(self, net=toward(self.net, s, n))
        u = mean_score(noising, t, x, y, mask)
        t, s = per_point(t, n), per_point(s, n)
        velocity = flow_velocity(noising, t, real_x, y, u)
        return zero_masked(follow_flow(noising, t, s, real_x, y, velocity), mask)

    def error(
        self,
        noising,
        t,
        x,
        y0: Outputs,
        perturbed: Perturbed,
        mask: Mask | None = None,
        output: Outputs | None = None,
        values: Values | None = None,
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
            values: Values that the network saw then, the third of `net_inputs`.

        Returns:
            Errors (n, p), whose mean square is the loss.
        """
        _validation.shapes(x, y0, dim=noising.dim, mask=mask)
        self._check_parametrisation(noising)
        if output is None or (values is None and self.base is not None):
            inputs = self.net_inputs(noising, t, x, perturbed.y, mask)
            output, values = self._output(inputs), inputs[2]
        at = noise_coefficients(noising, per_point(t, len(x)), zero_masked(x, row_mask(mask)), mask)
        output = self._corrected(at, perturbed.y, values, output)
        error = self.parametrisation.error(at, y0, perturbed, output)
        return error if noising.flat else noising.manifold.project(perturbed.y, error)

    def _check_parametrisation(self, noising) -> None:
        if not noising.flat and self.base is not None:
            raise ValueError("expected no base on a manifold, got a Gaussian process")
        if not noising.flat and not self.parametrisation.supports_manifolds:
            name = type(self.parametrisation).__name__
            raise ValueError(f"expected PreconditionK on a manifold, got {name}")
