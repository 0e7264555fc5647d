r"""Curl-free and divergence-free fields are quarter turns of one another, and so are their models.

With J the rotation of values by 90 degrees, a gradient field f gives the divergence-free J f, and
$K_{div}(x, x') = J K_{curl}(x, x') J^T = J^T K_{curl}(x, x') J$. White noise is the same in both:
$s_{div}(t, x, y) = J^T s_{curl}(t, x, J y)$. A model trained on one set is, with its weights
turned, one of the other, likelihoods included. Under reflections turned vectors are pseudo-vectors.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx

from geomndp._linalg import matmul
from geomndp.experiments.turned import quarter_turn
from geomndp.model import Model
from geomndp.nets import BiDimensionalAttention, Steerable2, reconfigure
from geomndp.score import NetworkScore

PARTNERS = {"curl-free": "div-free", "div-free": "curl-free"}
_TURNED = {"vector": "pseudovector", "pseudovector": "vector"}


def partner(model: Model) -> Model:
    """The model of the quarter turns of a model's planar vector fields."""
    score = model.score
    if not isinstance(score, NetworkScore):
        raise ValueError(f"expected a model with a network, got {type(score).__name__}")
    net = score.net
    if isinstance(net, Steerable2) and net.kinds in (("vector",), ("pseudovector",)):
        turned = reconfigure(net, kinds=(_TURNED[net.kinds[0]],))
    elif isinstance(net, BiDimensionalAttention) and net.output_dim == 2:
        turned = _turn_weights(net)
    else:
        raise ValueError(f"expected a network of planar vectors, got {type(net).__name__}")
    return dataclasses.replace(model, score=dataclasses.replace(score, net=turned))


def _turn_weights(net: BiDimensionalAttention) -> BiDimensionalAttention:
    """Turn what goes in, and what comes out back: tokens are (place, values)."""
    turn, into, head = quarter_turn(net.head.weight.dtype), net.embed.weight, net.head
    values = [into.at[:, 1:].set(matmul(into[:, 1:], turn)), matmul(turn.T, head.weight)]
    places = [lambda net: net.embed.weight, lambda net: net.head.weight]
    if head.bias is not None:
        values.append(matmul(turn.T, head.bias[:, None])[:, 0])
        places.append(lambda net: net.head.bias)
    return eqx.tree_at(lambda net: [place(net) for place in places], net, values)
