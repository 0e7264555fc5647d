"""What every network is: one function in, one array of outputs back."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._arrays import per_point
from geomndp._types import Array, Float, Inputs, Mask, Outputs, Times
from geomndp.linalg import zero_masked


class AbstractNet(eqx.Module):
    """Map (t, x, y, mask) of one function to (n, p), equivariant to permutations of the points.

    Times are one a point. Masked points change nothing and get zeros. Points of several functions
    may share one call: their mask is then the number of their function, from 1 on. Hyperparameters
    are static fields under the names of the constructor's arguments, all other leaves are
    parameters.
    """

    kind: eqx.AbstractClassVar[str]
    input_dim: eqx.AbstractVar[int]
    output_dim: eqx.AbstractVar[int]

    @property
    def local(self) -> bool:
        """Whether a point sees others within a finite range only."""
        return False

    @abc.abstractmethod
    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return the outputs at the points, in the dtype of y."""

    @property
    def num_relative_inputs(self) -> int:
        """How many leading columns of x enter through their differences only."""
        return 0

    def config(self) -> dict[str, Any]:
        """Return what `build` needs to make this network again, ready for JSON."""
        static = (f.name for f in dataclasses.fields(self) if f.metadata.get("static", False))
        return {"kind": self.kind, **{name: getattr(self, name) for name in static}}


class Points(NamedTuple):
    """One function with zeros in its masked rows."""

    t: Float[Array, " n"]
    x: Inputs
    y: Outputs
    mask: Mask


def clean(net: AbstractNet, t: Times, x: Inputs, y: Outputs, mask: Mask | None) -> Points:
    """Check shapes, spread a scalar time, overwrite whatever stands in masked rows.

    NaN and infinity there reach neither values nor gradients.
    """
    _validation.shapes(x, y, dim=net.output_dim, mask=mask)
    _validation.shape("x", x, (len(x), net.input_dim))
    mask = jnp.ones(len(x), dtype=y.dtype) if mask is None else mask
    t = jnp.where(mask > 0, per_point(t, len(x)), 0.0)
    return Points(t, zero_masked(x, mask), zero_masked(y, mask), mask)


def float_name(dtype: str | None) -> str:
    """Name of the parameters' dtype; None is JAX's default float."""
    name = jnp.dtype(jnp.result_type(float) if dtype is None else dtype).name
    _validation.one_of("dtype", name, ("float32", "float64"))
    return name


def check_compute(compute_dtype: str | None, implementation: str | None) -> None:
    """Refuse unknown ways to compute, and fused attention in a dtype that it does not have."""
    _validation.one_of("compute_dtype", compute_dtype, (None, "float32", "bfloat16"))
    _validation.one_of("implementation", implementation, (None, "xla", "cudnn"))
    if implementation == "cudnn" and compute_dtype != "bfloat16":
        raise ValueError(f"expected compute_dtype 'bfloat16' with cudnn, got {compute_dtype!r}")
