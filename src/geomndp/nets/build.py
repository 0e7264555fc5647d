"""Networks from configurations, and the same parameters under another configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import equinox as eqx
import jax
import jax.random as jr

from geomndp import _registry, _validation
from geomndp._types import PRNGKeyArray
from geomndp.nets.base import AbstractNet
from geomndp.nets.bidimensional_attention import BiDimensionalAttention
from geomndp.nets.relative_attention import RelativeAttention
from geomndp.nets.spherical_attention import SphericalAttention
from geomndp.nets.steerable_2d import Steerable2
from geomndp.nets.steerable_3d import Steerable3

_NETS = {
    "net/bidimensional-attention": BiDimensionalAttention,
    "net/relative-attention": RelativeAttention,
    "net/steerable-2d": Steerable2,
    "net/steerable-3d": Steerable3,
    "net/track-attention": SphericalAttention,
}
for _tag, _net in _NETS.items():
    _registry.add(_tag, _net)


def build(config: Mapping[str, Any], *, key: PRNGKeyArray) -> AbstractNet:
    """Make the network that `config` describes, with new parameters.

    Its `kind` is a registered tag such as "net/relative-attention", or that of
    `AbstractNet.config`.
    """
    options = dict(config)
    kind = options.pop("kind", None)
    known: dict[str, Callable[..., AbstractNet]] = {net.kind: net for net in _NETS.values()}
    for tag in _registry.tags("net"):
        known[tag] = cast(Callable[..., AbstractNet], _registry.class_of(tag))
    _validation.one_of("kind", kind, tuple(known))
    return known[kind](**options, key=key)


def _remake(net: AbstractNet, changes: Mapping[str, Any], *, key: PRNGKeyArray) -> AbstractNet:
    """A new network of the same class, registered or not, with other options."""
    options = {**net.config(), **changes}
    del options["kind"]
    make = cast(Callable[..., AbstractNet], type(net))
    return make(**options, key=key)


def extend_network(net: AbstractNet, *, key: PRNGKeyArray, **changes: Any) -> AbstractNet:
    """Make a network with more parts, such as `num_scales=4`; those that both have are kept.

    Parts that start at zero change nothing before they are trained.
    """
    new = _remake(net, changes, key=key)
    old = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(net)}

    def kept(path, leaf):
        known = old.get(jax.tree_util.keystr(path), leaf)
        if known.shape != leaf.shape:
            raise ValueError(f"expected changes that only add parameters, got {changes}")
        return known

    return jax.tree.map_with_path(kept, new)


def with_config(net: AbstractNet, **changes: Any) -> AbstractNet:
    """Return a network with the same parameters that computes differently.

    For example `compute_dtype=None, implementation=None` for likelihoods by forward mode, after
    training in bfloat16.
    """
    shapes = eqx.filter_eval_shape(_remake, net, changes, key=jr.key(0))
    old, new = jax.tree.leaves(net), jax.tree.leaves(shapes)
    if [leaf.shape for leaf in old] != [leaf.shape for leaf in new]:
        raise ValueError(f"expected changes that keep the parameters' shapes, got {changes}")
    return jax.tree.unflatten(jax.tree.structure(shapes), old)
