"""High-level model API: samples, posteriors given any observations, and log-likelihoods."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._training_log import TrainingSupport
from geomndp.data import Normaliser
from geomndp.geometry import AbstractManifold, Sphere
from geomndp.model.base import AbstractModel, CheckedContext
from geomndp.model.outside_training import warn_about_context
from geomndp.model.posterior import Posterior
from geomndp.model.summary import describe_model
from geomndp.model.units import common_centre, in_model_units
from geomndp.nets import AbstractNet, with_config
from geomndp.noising import AbstractNoising
from geomndp.samplers.problem import no_observations
from geomndp.score import AbstractScore, NetworkScore
from geomndp.tables import Variables


@renamed_arguments(eps="t_min")
class Model(AbstractModel):
    """Law of functions: a noising and the score of what it noised.

    Args:
        noising: Forward process.
        score: Score of the noised law, exact or learnt.
        t_min: Smallest diffusion time, at which samples end and densities are given.
        normaliser: Change between the data's units, which every method takes, and the model's.
        variables: Names and units (see `with_variables`): x and y may then come as one table.
        support: What training saw: requests outside of it warn.
        report: How the model was chosen and what was measured then, as text.

    Example:
        ```python
        noising = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(), gn.noising.DEFAULT_SCHEDULE_1D)
        exact = gn.score.GaussianScore(gn.gp.GP(gn.kernels.SquaredExponential(0.25), noise=0.01))
        draws = gn.Model(noising, exact).condition(xc, yc).sample(x, key=0, num_samples=64)
        ```
    """

    noising: AbstractNoising
    score: AbstractScore
    t_min: float = eqx.field(default=5e-4, static=True)
    normaliser: Normaliser | None = None
    variables: Variables | None = None
    support: TrainingSupport | None = None
    report: str | None = eqx.field(default=None, static=True)

    eps = renamed_attribute("t_min")
    named = renamed_attribute("with_variables")

    def __repr__(self) -> str:
        return describe_model(self)

    def __check_init__(self) -> None:
        check_names(self.variables, self.noising.manifold)
        if not _validation.is_number(self.t_min) or not 0 < self.t_min < 1:
            raise ValueError(f"expected 0 < t_min < 1, got {_validation.brief(self.t_min)}")
        check_scales(self.normaliser, self.noising.manifold)
        check_domain(self.variables, self.normaliser)

    @property
    def manifold(self) -> AbstractManifold:
        return self.noising.manifold

    @property
    def input_dim(self) -> int | None:
        net = self.score.net if isinstance(self.score, NetworkScore) else None
        return net.input_dim if isinstance(net, AbstractNet) else None

    @property
    def network(self) -> Any:
        return getattr(self.score, "net", None)

    @property
    def network_base(self) -> Any:
        return getattr(self.score, "base", None)

    @property
    def num_relative_inputs(self) -> int:
        score, noising = self.score, self.noising
        if not isinstance(score, NetworkScore) or not noising.kernel.white:
            return 0
        if getattr(noising, "mean", None) is not None or score.base is not None:
            return 0
        return getattr(score.net, "num_relative_inputs", 0)

    @property
    def num_groups(self) -> int:
        return self.score.num_groups

    def posterior(self, context: CheckedContext | None, time_origin: str | None) -> Posterior:
        if context is None:  # those of the targets' dtype and columns take their place
            nothing = no_observations(self.input_dim or 1, self.noising.dim, jnp.result_type(float))
            return Posterior(self, nothing, time_origin)
        x, y, observations = context
        centre = common_centre(self, x, observations.mask)
        observations = in_model_units(self, observations, x, y, centre)
        warn_about_context(self, observations)
        return Posterior(self, observations, time_origin, centre)


def in_full_precision(model: Model) -> Model:
    """A network with its parameters, computed in the dtype of the values and by plain JAX."""
    score = model.score
    if not isinstance(score, NetworkScore) or not isinstance(score.net, AbstractNet):
        raise ValueError("expected a model with a NetworkScore of geomndp.nets")
    fast = {"compute_dtype", "attention_backend"} & set(score.net.config.to_dict())
    net = with_config(score.net, **dict.fromkeys(fast))
    return dataclasses.replace(model, score=dataclasses.replace(score, net=net))


def check_names(variables: Variables | None, manifold: AbstractManifold) -> None:
    """Refuse names that do not fit the values of a model."""
    if variables is None:
        return
    codomain = "sphere" if manifold == Sphere(2) else "real"
    if variables.codomain != codomain or (codomain == "real" and not manifold.flat):
        kind = type(manifold).__name__
        raise ValueError(f"expected names of values on {kind}, got codomain {variables.codomain!r}")
    if variables.dim != manifold.ambient_dim:
        names = ", ".join(map(repr, variables.output_names))
        raise ValueError(
            f"expected {manifold.ambient_dim} outputs, got {len(variables.outputs)}: {names}"
        )


def check_scales(normaliser: Normaliser | None, manifold: AbstractManifold) -> None:
    """Refuse to stretch what is curved."""
    if not isinstance(normaliser, Normaliser | None):
        raise ValueError(f"expected a Normaliser or none, got {_validation.brief(normaliser)}")
    if normaliser is not None and not manifold.flat:
        stretched = any(normaliser.y_shift) or any(scale != 1 for scale in normaliser.y_scale)
        if stretched or normaliser.transform:
            raise ValueError("expected a normaliser that leaves y on its manifold")


def check_domain(variables: Variables | None, normaliser: Normaliser | None) -> None:
    """Refuse a change of units that moves unit vectors of inputs off the sphere."""
    if variables is None or variables.domain != "sphere" or normaliser is None:
        return
    units = (normaliser.x_shift, normaliser.x_scale)
    shift, scale = (3 * part if len(part) == 1 else part for part in units)
    if any(shift[:3]) or any(part != 1 for part in scale[:3]) or any(normaliser.x_period[:3]):
        raise ValueError("expected a normaliser that leaves x on the sphere")


def learnt_posteriors(posterior: Any) -> list[Posterior]:
    """The parts of a law given observations that a sampler draws: it, or members of a mixture.

    Args:
        posterior: The law of any model given observations.

    Returns:
        Those that take a `sampler`, none where all are drawn exactly.
    """
    members = getattr(posterior, "posteriors", (posterior,))
    return [member for member in members if isinstance(member, Posterior)]
