"""Pieces that the networks share: masked points, linear maps, norms, features of times and inputs.

Parameters follow the dtype of what they act on.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Inputs, Mask, Outputs, PerPoint, PRNGKeyArray, Times
from geomndp.linalg import per_point, row_mask, zero_masked
from geomndp.nets.base import AbstractNet

LayerT = TypeVar("LayerT", bound=eqx.Module)
NUM_TIME_FREQUENCIES = 16
MAX_TIME_FREQUENCY = 50.0


class Points(NamedTuple):
    """One function with zeros where it is masked."""

    t: PerPoint
    x: Inputs
    y: Outputs
    mask: Mask

    @property
    def rows(self) -> Float[Array, " n"]:
        """Mask of the points that have any value."""
        rows = row_mask(self.mask)
        assert rows is not None
        return rows


def clean(net: AbstractNet, t: Times, x: Inputs, y: Outputs, mask: Mask | None) -> Points:
    """Check shapes, broadcast times, and overwrite whatever is masked.

    NaN and infinity there reach neither values nor gradients.

    Args:
        net: The network, for the numbers of inputs, outputs and groups of outputs.
        t: Times, a scalar, (n,) or (n, g).
        x: Inputs (n, d).
        y: Values (n, p), of every input field.
        mask: (n,) or (n, g), or None for a mask of ones.

    Returns:
        Times and mask (n,), or (n, g) for a network of g > 1 groups.
    """
    _validation.shapes(x, y, dim=net.config.value_dim, mask=mask)
    mask = jnp.ones(len(x), dtype=y.dtype) if mask is None else mask
    t, (x, mask) = _per_group(net, t, len(x)), clean_inputs(net, x, mask)
    t = jnp.where(mask > 0, t, 0.0)
    return Points(t, x, zero_masked(y, _per_field(net, mask)), mask)


def clean_inputs(net: AbstractNet, x: Inputs, mask: Mask | None) -> tuple[Inputs, Mask]:
    """Inputs and mask as `clean` returns them."""
    _validation.shape("x", x, (len(x), net.config.input_dim))
    mask = _per_group(net, jnp.ones(len(x), dtype=x.dtype) if mask is None else mask, len(x))
    return zero_masked(x, row_mask(mask)), mask


def _per_group(net: AbstractNet, v: Times, n: int) -> PerPoint:
    """Numbers (n,), or (n, g) for a network of g > 1 groups of outputs."""
    v = per_point(v, n)
    if v.ndim == 2 and v.shape[1] != net.num_groups:
        raise ValueError(
            f"expected a network of num_groups={v.shape[1]}, where outputs are observed apart, got "
            f"{type(net).__name__} of num_groups={net.num_groups}"
        )
    if net.num_groups == 1:
        return v if v.ndim == 1 else v[:, 0]
    return v if v.ndim == 2 else jnp.broadcast_to(v[:, None], (n, net.num_groups))


def _per_field(net: AbstractNet, mask: Mask) -> Array:
    """Mask of all input fields, whose groups are those of the outputs again."""
    return mask if mask.ndim == 1 else jnp.tile(mask, (1, net.value_dim // net.output_dim))


def check_groups(num_groups: int, output_dim: int) -> None:
    """Raise ValueError unless the outputs can be split into so many groups of one size."""
    _validation.at_least(1, num_groups=num_groups)
    if output_dim % num_groups:
        raise ValueError(f"expected num_groups to divide {output_dim} outputs, got {num_groups}")


def linear(layer: eqx.nn.Linear, x: Float[Array, "*m i"]) -> Float[Array, "*m o"]:
    """Apply a linear layer to the last axis."""
    out = jnp.einsum("...i,oi->...o", x, layer.weight.astype(x.dtype))
    if layer.bias is None:
        return out
    return out + jnp.expand_dims(layer.bias.astype(x.dtype), range(x.ndim - 1))


def linear_first(layer: eqx.nn.Linear, x: Float[Array, "i n m"]) -> Float[Array, "o n m"]:
    """Apply a linear layer without offset to the first axis: pairs stay contiguous."""
    return jnp.einsum("oi,inm->onm", layer.weight.astype(x.dtype), x)


def zeroed(layer: LayerT) -> LayerT:
    """Return the layer with all parameters zero."""
    return jax.tree.map(jnp.zeros_like, layer)


def rms_norm(x: Float[Array, "*m c"]) -> Float[Array, "*m c"]:
    """Scale the last axis to unit mean square (Zhang and Sennrich, 2019).

    No gain: the linear layer that follows has one.
    """
    return x * jax.lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


def same_function(mask: Mask) -> Bool[Array, "n n"]:
    """Pairs of real points of one function: the mask is its number, zero for padding."""
    return (mask[:, None] == mask[None, :]) & (mask > 0)[None, :]


class TimeEmbedding(eqx.Module):
    r"""Sinusoids of the warped time $u = \log(1 + t/s) / \log(1 + 1/s)$ through a small MLP.

    The noise level is about proportional to t near zero, so equal steps in log t matter equally;
    below the scale s the warp is linear, so that t = 0 (a context) is a regular point of its own.
    With several groups of outputs the MLP sees the features of each, zero where it is missing, and
    which of them are there.

    Args:
        width: Number of channels of the embedding.
        num_groups: Number g of groups of outputs.
        scale: The time s below which the warp is linear.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    scale: float = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        num_groups: int = 1,
        *,
        scale: float = 1e-3,
        dtype: str,
        key: PRNGKeyArray,
    ):
        _validation.positive(scale=scale)
        inner_key, outer_key = jr.split(key)
        size = 1 + 2 * NUM_TIME_FREQUENCIES
        size = size if num_groups == 1 else num_groups * (size + 1)
        self.inner = eqx.nn.Linear(size, width, dtype=dtype, key=inner_key)
        self.outer = eqx.nn.Linear(width, width, dtype=dtype, key=outer_key)
        self.scale = scale

    def features(self, t: Float[Array, " n"]) -> Float[Array, "n f"]:
        """Warped time and its sinusoids."""
        u = jnp.log1p(t / self.scale) / np.log1p(1 / self.scale).item()
        w = np.geomspace(1.0, MAX_TIME_FREQUENCY, NUM_TIME_FREQUENCIES)
        angles = u[:, None] * jnp.asarray(w, dtype=t.dtype)[None, :]
        return jnp.concatenate([u[:, None], jnp.cos(angles), jnp.sin(angles)], axis=1)

    def __call__(self, t: PerPoint, mask: Mask | None = None) -> Float[Array, "n c"]:
        """Embed each time (n,), or the times (n, g) of a point's groups with their mask (n, g)."""
        if t.ndim == 1:
            features = self.features(t)
        else:
            assert mask is not None
            present = (mask > 0).astype(t.dtype)[:, :, None]
            features = jax.vmap(self.features, in_axes=1, out_axes=1)(t)
            features = jnp.concatenate([present, present * features], axis=2).reshape(len(t), -1)
        return linear(self.outer, jax.nn.gelu(linear(self.inner, features)))


class FourierFeatures(eqx.Module):
    r"""Angles $2 \pi x_a / \lambda_k$, whose sines and cosines are features of the inputs.

    A periodic coordinate has wavelengths that divide its period, so that x and x + period have the
    same features.

    Args:
        num: Number of wavelengths, in geometric progression.
        min_wavelength: The shortest, in units of the inputs.
        max_wavelength: The longest; of a periodic coordinate, its period instead.
        periods: Period of every coordinate, zero where it has none; empty where none has one.

    Raises:
        ValueError: Unless 0 < min_wavelength < max_wavelength.
    """

    num: int = eqx.field(static=True)
    min_wavelength: float = eqx.field(static=True)
    max_wavelength: float = eqx.field(static=True)
    periods: tuple[float, ...] = eqx.field(default=(), static=True)

    def __check_init__(self):
        _validation.at_least(1, num_frequencies=self.num)
        if not 0 < self.min_wavelength < self.max_wavelength:
            got = f"{self.min_wavelength}, {self.max_wavelength}"
            raise ValueError(f"expected 0 < min_wavelength < max_wavelength, got {got}")

    def wavelengths(self, period: float = 0.0) -> np.ndarray:
        """Wavelengths of a coordinate, longest first; whole parts of its period if it has one."""
        if not period:
            return np.geomspace(self.max_wavelength, self.min_wavelength, self.num)
        most = max(period / self.min_wavelength, 1.0)
        return period / np.unique(np.round(np.geomspace(1.0, most, self.num)))

    def count(self, dim: int) -> int:
        """Number k of angles of `dim` coordinates."""
        periods = self.periods if any(self.periods) else (0.0,) * dim
        return sum(len(self.wavelengths(period)) for period in periods)

    def angles(self, x: Float[Array, "d *m"]) -> Float[Array, "k *m"]:
        """Angles of each coordinate at each wavelength, all k of the first coordinate first."""
        if any(self.periods):
            rows = zip(x, self.periods, strict=True)
            return jnp.concatenate([self._angles(row[None], period) for row, period in rows])
        return self._angles(x)

    def _angles(self, x: Float[Array, "d *m"], period: float = 0.0) -> Float[Array, "k *m"]:
        w = jnp.asarray(2 * np.pi / self.wavelengths(period), dtype=x.dtype)
        angles = jnp.expand_dims(x, 1) * jnp.expand_dims(w, (0, *range(2, x.ndim + 1)))
        return angles.reshape(-1, *x.shape[1:])


def embed_times(net: AbstractNet, t: PerPoint, mask: Mask | None = None) -> Float[Array, "n c"]:
    """Embedding of the times of the points, with that of their targets where the network has one.

    Args:
        net: A network with attributes `time` and `target_time`.
        t: Times (n,) or (n, g).
        mask: (n,) or (n, g), zero where a value is padding or missing.
    """
    time = net.time(t, mask)  # pyright: ignore[reportAttributeAccessIssue]
    return time if not has_target_times(net) else time + net.target_time(t, mask)  # pyright: ignore


def has_target_times(net: object) -> bool:
    """Whether a network has an embedding of target times."""
    return getattr(net, "target_time", None) is not None
