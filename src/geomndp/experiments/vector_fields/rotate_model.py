r"""Curl-free and divergence-free fields are 90-degree rotations of one another.

With J the rotation of values by 90 degrees, a gradient field f gives the divergence-free J f, and
$K_{div}(x, x') = J K_{curl}(x, x') J^T = J^T K_{curl}(x, x') J$. White noise is the same in both:
$s_{div}(t, x, y) = J^T s_{curl}(t, x, J y)$. A model trained on one set is, with its weights
rotated, one of the other, likelihoods included. Under reflections rotated vectors are
pseudo-vectors, so that the rotated network is made odd in its values, as the scores of both laws
are: a reflected pseudo-vector is minus a reflected vector, and the sign goes through.

python -m geomndp.experiments.vector_fields.rotate_model vector-fields/curl-free runs/df/model
"""

from __future__ import annotations

import argparse
import dataclasses

import equinox as eqx

from geomndp import _model_files
from geomndp.experiments.vector_fields.rotated_sampler import rotation_90
from geomndp.kernels import Diagonal, White
from geomndp.linalg import matmul
from geomndp.model import Model, load
from geomndp.nets import BiDimensionalAttention, Steerable2, with_config
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.score import NetworkScore

_TURNED = {"vector": "pseudovector", "pseudovector": "vector"}


def rotated_model(model: Model) -> Model:
    """The model of the quarter turns of a model's planar vector fields."""
    score, noising = model.score, model.noising
    if not isinstance(noising, OrnsteinUhlenbeck) or noising.mean is not None or model.normaliser:
        raise ValueError("expected a model of plain vectors without mean and scales")
    if not isinstance(noising.kernel, Diagonal) or not isinstance(noising.kernel.kernel, White):
        raise ValueError("expected a white limiting kernel, which has no direction")
    if not isinstance(score, NetworkScore):
        raise ValueError(f"expected a model with a network, got {type(score).__name__}")
    net = score.net
    if isinstance(net, Steerable2) and net.config.representations in (
        ("vector",),
        ("pseudovector",),
    ):
        rotated = with_config(
            net, representations=(_TURNED[net.config.representations[0]],), odd=True
        )
    elif isinstance(net, BiDimensionalAttention) and net.output_dim == 2:
        rotated = _rotate_weights(net)
    else:
        raise ValueError(f"expected a network of planar vectors, got {type(net).__name__}")
    return dataclasses.replace(model, score=dataclasses.replace(score, net=rotated))


def _rotate_weights(net: BiDimensionalAttention) -> BiDimensionalAttention:
    """Turn what goes in, and what comes out back: tokens are (leaf, values)."""
    rotation, into, head = rotation_90(net.head.weight.dtype), net.embed.weight, net.head
    values = [into.at[:, -2:].set(matmul(into[:, -2:], rotation)), matmul(rotation.T, head.weight)]
    leaves = [lambda net: net.embed.weight, lambda net: net.head.weight]
    if head.bias is not None:
        values.append(matmul(rotation.T, head.bias[:, None])[:, 0])
        leaves.append(lambda net: net.head.bias)
    return eqx.tree_at(lambda net: [leaf(net) for leaf in leaves], net, values)


def main() -> None:
    """Turn a model and write it."""
    parser = argparse.ArgumentParser(description="Turn a model of vector fields by a quarter.")
    parser.add_argument("model", help="name or path of a model of curl- or divergence-free fields")
    parser.add_argument("out", help="path of the model to write")
    options = parser.parse_args()
    notes = dict(_model_files.metadata(options.model)) | {
        "metrics": {},
        "turned_from": options.model,
    }
    notes["experiment"] = _rotated_name(notes["experiment"])
    rotated_model(load(options.model)).save(options.out, notes)


def _rotated_name(name: str) -> str:
    fields = ("curl-free", "div-free")
    for field, other in (fields, fields[::-1]):
        if field in name:
            return name.replace(field, other)
    raise ValueError(f"expected a model of curl-free or div-free fields, got one of {name}")


if __name__ == "__main__":
    main()
