"""Networks from configurations, and the same parameters under another configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.random as jr

from geomndp import _checks
from geomndp._types import PRNGKeyArray
from geomndp.nets.base import AbstractNet
from geomndp.nets.bidimensional import BiDimensionalAttention
from geomndp.nets.relative import RelativeAttention
from geomndp.nets.steerable2 import Steerable2
from geomndp.nets.steerable3 import Steerable3
from geomndp.nets.tracks import TrackAttention

_NETS = (BiDimensionalAttention, RelativeAttention, Steerable2, Steerable3, TrackAttention)
_KINDS: dict[str, Callable[..., AbstractNet]] = {net.kind: net for net in _NETS}


def build(config: Mapping[str, Any], *, key: PRNGKeyArray) -> AbstractNet:
    """Make the network that `config` (see `AbstractNet.config`) describes, with new parameters."""
    options = dict(config)
    kind = options.pop("kind", None)
    _checks.one_of("kind", kind, tuple(_KINDS))
    return _KINDS[kind](**options, key=key)


def grown(net: AbstractNet, *, key: PRNGKeyArray, **changes: Any) -> AbstractNet:
    """Make a network with more parts, such as `num_scales=4`; those that both have are kept.

    Parts that start at zero change nothing before they are trained.
    """
    new = build({**net.config(), **changes}, key=key)
    old = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(net)}

    def kept(path, leaf):
        known = old.get(jax.tree_util.keystr(path), leaf)
        if known.shape != leaf.shape:
            raise ValueError(f"expected changes that only add parameters, got {changes}")
        return known

    return jax.tree.map_with_path(kept, new)


def reconfigure(net: AbstractNet, **changes: Any) -> AbstractNet:
    """Return a network with the same parameters that computes differently.

    For example `compute_dtype=None, implementation=None` for likelihoods by forward mode, after
    training in bfloat16.
    """
    shapes = eqx.filter_eval_shape(build, {**net.config(), **changes}, key=jr.key(0))
    old, new = jax.tree.leaves(net), jax.tree.leaves(shapes)
    if [leaf.shape for leaf in old] != [leaf.shape for leaf in new]:
        raise ValueError(f"expected changes that keep the parameters' shapes, got {changes}")
    return jax.tree.unflatten(jax.tree.structure(shapes), old)
