"""From the arithmetic of training to that of likelihoods."""

import dataclasses

from geomndp.model.model import Model
from geomndp.nets import AbstractNet, with_config
from geomndp.score import NetworkScore


def in_full_precision(model: Model) -> Model:
    """The same parameters, computed in the dtype of the values and by plain JAX."""
    score = model.score
    if not isinstance(score, NetworkScore) or not isinstance(score.net, AbstractNet):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets")
    fast = {"compute_dtype", "attention_backend"} & set(score.net.config.to_dict())
    net = with_config(score.net, **dict.fromkeys(fast))
    return dataclasses.replace(model, score=dataclasses.replace(score, net=net))
