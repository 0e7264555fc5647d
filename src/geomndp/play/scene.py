"""How the playground draws a model: as a line, in the plane, as tracks or fields on the globe."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from geomndp._training_log import Range, TrainingSupport
from geomndp.model.base import AbstractModel
from geomndp.tables import Variables

LINE, PLANE, GLOBE, EARTH = "line", "plane", "globe", "earth"
GRIDS = (PLANE, EARTH)
"""Pictures whose targets are a grid of two inputs."""
LATLON: tuple[Range, ...] = ((-90.0, 90.0), (-180.0, 180.0))
EARTH_VIEW: tuple[Range, ...] = ((-82.5, 82.5), (-168.75, 168.75))
"""Latitudes and longitudes of the targets first: 16 by 16 without two at one location."""
NOTHING_KNOWN: Range = (-3.0, 3.0)
"""Range of inputs and outputs where a model has no record of its training."""
TARGETS = {LINE: (50, 2, 400), PLANE: (16, 2, 40), GLOBE: (24, 1, 120), EARTH: (16, 2, 40)}
"""Targets by default, fewest and most: along the line, per side of a grid, times of a track."""
SAMPLES = {LINE: 64, PLANE: 4, GLOBE: 16, EARTH: 4}
"""Samples by default."""


class Scene(NamedTuple):
    """What a picture of a model shows.

    Attributes:
        kind: "line" (one input), "plane" (two), "globe" (tracks on the sphere over one input), or
            "earth" (fields by latitude and longitude).
        variables: Names and units of inputs and outputs.
        vector: Whether the two outputs of a field are one vector.
        outputs_apart: Whether an observation may lack some of the outputs.
        inputs: Range of every input that is shown first.
        outputs: Range of every output, in the columns of a table.
    """

    kind: str
    variables: Variables
    vector: bool
    outputs_apart: bool
    inputs: tuple[Range, ...]
    outputs: tuple[Range, ...]

    def describe(self) -> dict[str, Any]:
        """The scene, JSON-serialisable."""
        variables = {"inputs": self.variables.inputs, "outputs": self.variables.outputs}
        named: dict[str, list[dict[str, Any]]] = {
            part: [{"name": each.name, "units": each.units} for each in listed]
            for part, listed in variables.items()
        }
        for part, ranges in (("inputs", self.inputs), ("outputs", self.outputs)):
            for variable, limits in zip(named[part], ranges, strict=True):
                variable["range"] = list(limits)
        apart = {"vector": self.vector, "outputs_apart": self.outputs_apart}
        return {"kind": self.kind, **named, **apart, "targets": list(TARGETS[self.kind])}


def scene_of(model: AbstractModel) -> Scene:
    """Choose the picture of a model.

    Args:
        model: A model that names its inputs and outputs.

    Returns:
        The scene.

    Raises:
        ValueError: If the model has no names, or none of the pictures fits it.
    """
    variables = model.variables
    if variables is None:
        raise ValueError(
            "expected a model that names its inputs and outputs, got one without names; "
            "use model.with_variables(inputs=..., outputs=...)"
        )
    if variables.num_covariates:
        raise ValueError("expected a model without covariates in the playground, got one with them")
    sphere, dim, p = variables.codomain == "sphere", len(variables.inputs), len(variables.outputs)
    kind = {(1, False): LINE, (2, False): PLANE, (1, True): GLOBE}.get((dim, sphere))
    if variables.domain == "sphere":
        kind = EARTH if kind == PLANE else None
    if kind is None:
        where = "locations on the sphere" if sphere else "real values"
        raise ValueError(
            "expected functions of one or two inputs, fields over the Earth, or tracks on the "
            f"sphere over one input, got {where} over {dim} inputs"
        )
    apart = p == 1 or model.num_groups == p
    vector = kind in GRIDS and p == 2 and model.num_groups == 1
    if not (apart or vector or sphere):
        raise ValueError(f"expected outputs that may be observed apart, got {p} that may not")
    return Scene(kind, variables, vector, apart, *_ranges(model, kind, dim, p))


def _ranges(
    model: AbstractModel, kind: str, dim: int, p: int
) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """Ranges of inputs that are shown first, and of outputs in training."""
    support = model.support
    if support is None:
        inputs = EARTH_VIEW if kind == EARTH else (NOTHING_KNOWN,) * dim
        return inputs, LATLON if kind == GLOBE else _in_units(model, p)
    inputs = window(support) if kind == PLANE else support.inputs
    inputs = EARTH_VIEW if kind == EARTH else inputs
    inputs = tuple((float(low), float(high)) for low, high in inputs)
    outputs = tuple((float(low), float(high)) for low, high in support.outputs)
    widened = tuple((low, high) if low < high else (low - 1, high + 1) for low, high in inputs)
    return widened, LATLON if kind == GLOBE else outputs


def _in_units(model: AbstractModel, p: int) -> tuple[Range, ...]:
    """`NOTHING_KNOWN` of p outputs, in units of the data where the model has these."""
    units = getattr(model, "normaliser", None)
    if units is None or units.transform:
        return (NOTHING_KNOWN,) * p
    shift, scale = (np.broadcast_to(part, p) for part in (units.y_shift, units.y_scale))
    low, high = (shift + scale * value for value in NOTHING_KNOWN)
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def window(support: TrainingSupport) -> tuple[Range, ...]:
    r"""Part of a plane that is shown first: its targets are as dense as points were in training.

    With extents $e_1, e_2$ of functions of N points a distance is $\sqrt{e_1 e_2 / N}$. Models are
    trained on wide sets of points too, which so few targets would cover with hardly a neighbour.

    Args:
        support: What training saw.

    Returns:
        Ranges around the middle of the inputs, at most these.
    """
    distance = math.sqrt(math.prod(support.extents) / support.points)
    widest = (TARGETS[PLANE][0] - 1) * distance or math.inf
    middles = [(low + high) / 2 for low, high in support.inputs]
    halves = [min(high - low, widest) / 2 for low, high in support.inputs]
    return tuple((m - half, m + half) for m, half in zip(middles, halves, strict=True))
