"""Change of units between a user's data and a model: a transform of outputs, then an affine one."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Batch, Float, Outputs, Scalar
from geomndp.data.circle import as_row, wrap
from geomndp.data.column_means import column_means
from geomndp.data.transformed_outputs import (
    apply,
    check_outputs,
    first_order_variance,
    inside,
)
from geomndp.data.transforms import AbstractTransform

RowArray = Float[Array, "*n k"]
"""Points of one function or of several, JAX arrays."""
AnyRowArray = Float[Array | np.ndarray, "*n k"]
"""Rows as JAX or NumPy arrays; the latter keep their type and precision."""
Values = TypeVar("Values", bound=Array | np.ndarray)
"""Outputs at points, of JAX or of NumPy."""


def _floats(value) -> tuple[float, ...]:
    array = _validation.as_array("a shift or scale", value)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"expected numbers to shift or scale, got {_validation.brief(value)}")
    return tuple(float(v) for v in array.reshape(-1))


def _transforms(value) -> tuple[AbstractTransform, ...]:
    transforms = (value,) if isinstance(value, AbstractTransform) else tuple(value)
    if wrong := [part for part in transforms if not isinstance(part, AbstractTransform)]:
        raise ValueError(f"expected transforms of outputs, got {_validation.brief(wrong[0])}")
    return transforms


class Normaliser(eqx.Module):
    """Change of units, (x - x_shift) / x_scale and (T(y) - y_shift) / y_scale.

    Every shift and scale is one number per coordinate, or one for all. One `x_scale` and one
    `y_scale` for all coordinates keep the symmetries of space.

    Attributes:
        x_shift: Origin of the inputs, in the data's units.
        x_scale: Unit of the inputs.
        y_shift: Origin of the outputs, in the data's units (after the transform).
        y_scale: Unit of the outputs.
        transform: T, elementwise (see `geomndp.data.transforms`): one per output, one for all, or
            `()` for none.
        x_period: Period of every input in the data's units, zero where it has none, or `()`:
            periodic inputs are taken within half a period of `x_shift` before they are scaled.

    Raises:
        ValueError: If a scale is not positive, a shift not finite or a period negative.

    Example:
        >>> units = Normaliser(x_scale=10.0, y_shift=280.0, y_scale=5.0)
        >>> units.forward_y(jnp.asarray([[285.0]]))
        Array([[1.]], dtype=float32)
    """

    x_shift: tuple[float, ...] = eqx.field(default=0.0, converter=_floats, static=True)
    x_scale: tuple[float, ...] = eqx.field(default=1.0, converter=_floats, static=True)
    y_shift: tuple[float, ...] = eqx.field(default=0.0, converter=_floats, static=True)
    y_scale: tuple[float, ...] = eqx.field(default=1.0, converter=_floats, static=True)
    transform: tuple[AbstractTransform, ...] = eqx.field(default=(), converter=_transforms)
    x_period: tuple[float, ...] = eqx.field(default=(), converter=_floats, static=True)

    def __check_init__(self):
        _validation.positive(x_scale=self.x_scale, y_scale=self.y_scale)
        for name, shift in (("x_shift", self.x_shift), ("y_shift", self.y_shift)):
            if not np.all(np.isfinite(shift)):
                raise ValueError(f"expected finite {name}, got {shift}")
        if not all(0 <= period < math.inf for period in self.x_period):
            raise ValueError(f"expected x_period >= 0 (zero for none), got {self.x_period}")

    @property
    def model_periods(self) -> tuple[float, ...]:
        """Period of every input in the model's units, zero where it has none; `()` for none."""
        if not any(self.x_period):
            return ()
        scales = self.x_scale * (len(self.x_period) if len(self.x_scale) == 1 else 1)
        return tuple(p / scale for p, scale in zip(self.x_period, scales, strict=True))

    @classmethod
    def fit(cls, batch: Batch, transform: Any = ()) -> Normaliser:
        """Units in which the real points have zero mean and unit variance.

        Means are per coordinate, the variance is that of all coordinates together.

        Args:
            batch: Functions in the data's units.
            transform: Transform or transforms of the outputs, before the affine change.

        Returns:
            The normaliser.

        Raises:
            ValueError: If there is no real point, or one is NaN, infinite or outside the domain of
                its transform.
        """
        _validation.no_masked(x=batch.x, y=batch.y, mask=batch.mask)
        real = np.asarray(batch.mask) > 0
        if not real.any():
            raise ValueError("expected at least one real point, got none")
        rows = real if real.ndim == 2 else np.asarray(real.any(axis=2))
        x, y = np.asarray(batch.x)[rows], np.asarray(batch.y)[rows]
        there = real[rows].reshape(len(y), -1)
        there = np.repeat(there, y.shape[1] // there.shape[1], axis=1)
        _validation.finite_rows("x", x)
        _validation.finite_rows("y", np.where(there, y, 0.0))
        transforms = _transforms(transform)
        check_outputs(transforms, y, there)
        y = apply("forward", transforms, y)
        x_mean, y_mean = column_means(x), column_means(np.where(there, y, np.nan))
        centred = x - x_mean, (y - y_mean)[there]
        scales = [math.sqrt(np.mean(v**2)) or 1.0 for v in centred]
        return cls(x_mean, scales[0], y_mean, scales[1], transforms)

    def forward_x(self, x: AnyRowArray) -> AnyRowArray:
        """Convert inputs to the model's units.

        Args:
            x: Inputs (..., d) in the data's units.

        Returns:
            Inputs (..., d) in the model's units.
        """
        x = wrap(x, self.x_shift, self.x_period)
        return (x - as_row("x", self.x_shift, x)) / as_row("x", self.x_scale, x)

    def inverse_x(self, x: RowArray) -> RowArray:
        """Convert inputs back to the data's units.

        Args:
            x: Inputs (..., d) in the model's units.

        Returns:
            Inputs (..., d) in the data's units, periodic ones within half a period of `x_shift`.
        """
        return as_row("x", self.x_shift, x) + as_row("x", self.x_scale, x) * x

    def forward_y(self, y: AnyRowArray) -> AnyRowArray:
        """Convert outputs to the model's units.

        Args:
            y: Outputs (..., p) in the data's units.

        Returns:
            Outputs (..., p) in the model's units.
        """
        y = apply("forward", self.transform, y)
        return (y - as_row("y", self.y_shift, y)) / as_row("y", self.y_scale, y)

    def inverse_y(self, y: Values) -> Values:
        """Convert outputs back to the data's units.

        Args:
            y: Outputs (..., p) in the model's units.

        Returns:
            Outputs (..., p) in the data's units.
        """
        y = as_row("y", self.y_shift, y) + as_row("y", self.y_scale, y) * y
        return apply("inverse", self.transform, y)

    def forward_noise(self, noise: Any, y: Any = None) -> Any:
        r"""Convert a noise variance to the model's units, to first order through a transform.

        $\sigma^2 T'(y)^2 / y_{scale}^2$, exact where nothing is transformed.

        Args:
            noise: Variance in the data's units: one, one per row (n,), or one per value (n, p).
            y: The noisy outputs (n, 1) in the data's units, needed for a transform.

        Returns:
            Variance in the model's units, with a transform of shape (n,).

        Raises:
            ValueError: If the outputs have several scales or transforms, or the derivative of the
                transform changes more than twofold within one standard deviation to either side.
        """
        if np.ndim(noise) == 2 and not self.transform:
            return noise / as_row("y", self.y_scale, noise) ** 2
        if len(set(self.y_scale)) > 1:
            raise ValueError(f"expected one y_scale for noisy data, got {self.y_scale}")
        if not self.transform:
            return noise / self.y_scale[0] ** 2
        if y is None or y.shape[1] != 1:
            raise ValueError("expected one output for noise through a transform, got others")
        return first_order_variance(self.transform[0], noise, y[:, 0]) / self.y_scale[0] ** 2

    def log_jacobian(self, y: Outputs, mask: Array | None = None) -> Scalar:
        r"""$\log |d y_{model} / d y|$ over the real points, to be added to the model's log-density.

        Args:
            y: Outputs (n, p) in the data's units; without transform only their shape is read.
            mask: 1 for real points, shape (n,), or for groups of outputs, (n, g); by default all.

        Returns:
            Nats, a scalar; -inf for a value outside the domain of its transform.
        """
        scales = self.y_scale if len(self.y_scale) > 1 else self.y_scale * y.shape[1]
        terms = apply("log_derivative", self.transform, y) if self.transform else None
        if mask is None or mask.ndim == 1:
            points = jnp.asarray(len(y), y.dtype) if mask is None else jnp.sum(mask)
            affine = -sum(math.log(scale) for scale in scales) * points
        else:
            mask = jnp.repeat(mask, y.shape[1] // mask.shape[1], axis=1)
            logs = jnp.asarray([math.log(scale) for scale in scales], y.dtype)
            affine = -jnp.sum(logs * jnp.sum(mask, axis=0))
        if terms is None:
            return affine
        terms = jnp.where(inside(self.transform, y), terms, -jnp.inf)
        keep = True if mask is None else (mask if mask.ndim == 2 else mask[:, None]) > 0
        return affine + jnp.sum(jnp.where(keep, terms, 0.0))
