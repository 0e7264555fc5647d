"""Small pieces shared by the networks; parameters follow the dtype of what they act on."""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Bool, Float, Mask

LayerT = TypeVar("LayerT", bound=eqx.Module)


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
