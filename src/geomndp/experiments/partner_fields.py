r"""Curl-free and divergence-free fields are quarter turns of one another, and so are their models.

With J the rotation of values by 90 degrees, a gradient field f gives the divergence-free J f, and
$K_{div}(x, x') = J K_{curl}(x, x') J^T = J^T K_{curl}(x, x') J$. White noise is the same in both, so
that $s_{div}(t, x, y) = J^T s_{curl}(t, x, J y)$: a model trained on one set is, with its weights
turned, one of the other, likelihoods included. Under reflections a turned vector is a pseudo-vector.
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
    turn = quarter_turn(net.head.weight.dtype)
    into = net.embed.weight
    into = into.at[:, 1:].set(matmul(into[:, 1:], turn))
    head = net.head
    weight, bias = matmul(turn.T, head.weight), matmul(turn.T, head.bias[:, None])[:, 0]
    places = (lambda n: n.embed.weight, lambda n: n.head.weight, lambda n: n.head.bias)
    values = (into, weight, bias)
    for place, value in zip(places, values, strict=True):
        net = eqx.tree_at(place, net, value)
    return net
