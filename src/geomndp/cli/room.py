"""Networks on graphs of neighbours, where places lie closer together than those of training."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np

from geomndp.model import Model, Posterior
from geomndp.nets import Steerable2, Steerable3, reconfigure
from geomndp.score import NetworkScore
from geomndp.tables import read_inputs

MUCH = 2.0  # times as many neighbours as in training: worth a word


def with_room(law: Model | Posterior, where: Any) -> Model | Posterior:
    """The same law with room for all neighbours of the observations and of the places asked for."""
    model = law.model if isinstance(law, Posterior) else law
    score = model.score
    net = score.net if isinstance(score, NetworkScore) else None
    if not isinstance(score, NetworkScore) or not isinstance(net, (Steerable2, Steerable3)):
        return law
    assert model.variables is not None
    x = read_inputs(model.variables, where).x
    if model.normaliser is not None:
        x = np.asarray(model.normaliser.forward_x(x))
    if isinstance(law, Posterior):
        x = np.concatenate([np.asarray(law.observations.x, x.dtype), x])
    most = _most_neighbours(x, net.radius)
    if most <= net.max_neighbours:
        return law
    if most > MUCH * net.max_neighbours:
        print(
            f"geomndp: note: places have up to {most} neighbours, {net.max_neighbours} in training:"
            " a coarser grid is faster and closer to what the model knows",
            file=sys.stderr,
        )
    roomy = reconfigure(net, max_neighbours=most)
    model = dataclasses.replace(model, score=dataclasses.replace(score, net=roomy))
    return dataclasses.replace(law, model=model) if isinstance(law, Posterior) else model


def _most_neighbours(x: np.ndarray, radius: float) -> int:
    from scipy.spatial import KDTree

    counts = KDTree(x).query_ball_point(x, radius, return_length=True)
    return int(np.max(counts, initial=1)) - 1
