"""Settings of the 1D ablation: limiting kernels, parametrisations, and models with them."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from geomndp._types import Array, Int
from geomndp.kernels import AbstractKernel, Periodic, SquaredExponential, White
from geomndp.model import Model
from geomndp.model.model import in_full_precision
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.score import PARAMETRISATIONS, AbstractParametrisation, NetworkScore

NUGGET = 0.05
LIMITS = ("white", "SE(1)", "SE(0.1)", "periodic")
SAME = "none = K = root"  # for a white limit: one setting


class AblationConfig(NamedTuple):
    """A limiting kernel and a parametrisation, by name."""

    limit: str
    parametrisation: str


def limits(variance: float) -> dict[str, AbstractKernel]:
    """The paper's limiting kernels, by name: white, SE with longer and shorter scales, periodic."""
    smooth = (SquaredExponential(1.0), SquaredExponential(0.1), Periodic(1.0, 1.0))
    kernels = (White(variance), *(kernel + White(NUGGET) for kernel in smooth))
    return dict(zip(LIMITS, kernels, strict=True))


def ablation_configs() -> list[AblationConfig]:
    """All settings; the three that coincide for a white limit are one."""
    white = [AblationConfig("white", name) for name in (SAME, "data", "velocity")]
    return white + [
        AblationConfig(limit, name) for limit in LIMITS[1:] for name in PARAMETRISATIONS
    ]


class AnyParametrisation(AbstractParametrisation):
    """The parametrisation of that number: one program measures all of them."""

    index: Int[Array, ""]
    separable = False

    def _pick(self, method: str, *arguments):
        branches = [
            getattr(parametrisation(), method) for parametrisation in PARAMETRISATIONS.values()
        ]
        return jax.lax.switch(self.index, branches, *arguments)

    def to_u(self, at, y, output):
        return self._pick("to_u", at, y, output)

    def from_u(self, at, y, u):
        return self._pick("from_u", at, y, u)

    def error(self, at, y0, perturbed, output):
        return self._pick("error", at, y0, perturbed, output)


def with_ablation(model: Model, variance: float, setting: AblationConfig) -> Model:
    """Give a model the limiting kernel and the parametrisation of a setting; its network stays.

    `variance` is that of the data.
    """
    score = model.score
    assert isinstance(score, NetworkScore)
    kernel = limits(variance)[setting.limit]
    noising = OrnsteinUhlenbeck(kernel, model.noising.schedule)
    parametrisation = PARAMETRISATIONS[
        "K" if setting.parametrisation == SAME else setting.parametrisation
    ]
    return dataclasses.replace(
        model, noising=noising, score=dataclasses.replace(score, parametrisation=parametrisation())
    )


def measurable(model: Model) -> Model:
    """Put a model in full precision, on a program that all parametrisations share."""
    score = in_full_precision(model).score
    assert isinstance(score, NetworkScore)
    index = list(PARAMETRISATIONS.values()).index(type(score.parametrisation))
    chosen = AnyParametrisation(jnp.asarray(index, dtype=jnp.int32))
    return dataclasses.replace(model, score=dataclasses.replace(score, parametrisation=chosen))
