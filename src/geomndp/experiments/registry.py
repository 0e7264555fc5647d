"""Every experiment by name: how its model is made, trained and scored.

`recipe("vector-fields/div-free")` looks the same for all of them, so that whoever trains or scores
an experiment (the command line does) knows nothing of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from os import PathLike
from typing import Any, NamedTuple

import jax.random as jr
import optax

from geomndp import _validation
from geomndp.data import AbstractGenerator
from geomndp.data.ibtracs import Split, cyclones as read_tracks, split_by_storm
from geomndp.experiments.cyclones import experiment as cyclones
from geomndp.experiments.cyclones.protocol import LEADS, task
from geomndp.experiments.regression1d import evaluate as score1d, experiment as regression1d
from geomndp.experiments.vector_fields import evaluate as score_fields, experiment as vector_fields
from geomndp.model import Model
from geomndp.train import DenoisingLoss

CYCLONE_STEPS = 10_000  # the loss of storms held out rises after that


class Recipe(NamedTuple):
    """One experiment: what is trained, how, and how it is scored."""

    name: str
    steps: int
    """Training steps unless told."""
    batch_size: int
    """Functions a step unless told."""
    make_model: Callable[..., Model]
    """(key=..., compute_dtype=..., **options of the network) -> untrained model"""
    make_generator: Callable[[int], AbstractGenerator | Sequence[AbstractGenerator]]
    """batch size -> training functions, of one generator or of several, interleaved"""
    make_loss: Callable[[], DenoisingLoss]
    make_optimiser: Callable[[int], optax.GradientTransformation]
    """number of steps -> optimiser"""
    score: Callable[..., dict[str, Any]]
    """(model, num=, region=, route=, probes=, seed=, directory=) -> measures, ready for JSON"""
    data: dict[str, Any]
    """What a model's file says of its training data."""


def names() -> tuple[str, ...]:
    """All experiments."""
    return (*regression1d.names(), *vector_fields.names(), *cyclones.NAMES)


def recipe(
    name: str,
    *,
    data: str | PathLike | None = None,
    functions: int | None = None,
    split: int = 0,
) -> Recipe:
    """Look up an experiment.

    `data` is the archive of tracks ($GEOMNDP_IBTRACS without) and `split` its division into storms
    to learn from and to be told; `functions` the size of a finite set of training fields.
    """
    _validation.one_of("experiment", name, names())
    fields, tracks = name in vector_fields.names(), name in cyclones.NAMES
    if functions is not None and not fields:
        raise ValueError(f"expected no number of functions for {name!r}, got {functions}")
    if data is not None and not tracks:
        raise ValueError(f"expected no data for {name!r}, which makes its own, got {data}")
    if fields:
        return _field(name, functions)
    return _cyclone(name, data, split) if tracks else _regression1d(name)


def _regression1d(name: str) -> Recipe:
    this = regression1d.experiment(name)
    return Recipe(
        name,
        regression1d.PAPER_STEPS,
        256,
        partial(regression1d.make_model, this),
        partial(regression1d.make_generator, this),
        regression1d.make_loss,
        partial(regression1d.make_optimiser, this),
        lambda model, **options: score1d.score(model, this, **options),
        {},
    )


def _field(name: str, functions: int | None) -> Recipe:
    this = vector_fields.experiment(name)

    def score(
        model: Model, *, region: str = "interpolation", probes: int | None, **options
    ) -> dict:
        _validation.one_of("region", region, ("interpolation",))
        return score_fields.score(model, this, probes=probes or 8, **options)

    return Recipe(
        name,
        vector_fields.PAPER_STEPS,
        32,
        partial(vector_fields.make_model, this),
        lambda batch_size: vector_fields.make_generator(this, batch_size, functions),
        vector_fields.make_loss,
        partial(vector_fields.make_optimiser, this),
        score,
        {"functions": functions},
    )


def _cyclone(name: str, data: str | PathLike | None, split: int) -> Recipe:
    @cache
    def parts() -> Split:
        return split_by_storm(read_tracks(data), split)

    return Recipe(
        name,
        CYCLONE_STEPS,
        512,
        partial(cyclones.make_model, name),
        lambda batch_size: cyclones.make_generator(parts().train, batch_size, name),
        cyclones.make_loss,
        cyclones.make_optimiser,
        lambda model, **options: _score_tracks(model, parts(), **options),
        {"split": split},
    )


def _score_tracks(
    model: Model,
    parts: Split,
    *,
    num: int,
    region: str = "interpolation",
    route: str,
    seed: int,
    **options,
) -> dict:
    """Measures of the task `region` on `num` of the storms held out; options of `log_probs`."""
    which = task(region)
    _validation.one_of("route", route, ("conditional",))
    test = parts.test.spread(num)
    found = cyclones.measure(model, which, Split(parts.train, test), key=jr.key(seed), **options)
    measures = {key: value for key, value in found._asdict().items() if value is not None}
    errors = measures.pop("lead_errors", ())
    leads = {f"mean_error_{hours}h": error for hours, error in zip(LEADS, errors, strict=False)}
    return measures | leads | {"num": len(test), "seed": seed, "region": region}
