r"""Mixtures of models: $\log p = \log \sum_k w_k p_k$, with weights that observations update."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp.data.transformed_outputs import OutsideDomainError
from geomndp.geometry import AbstractManifold
from geomndp.model.base import AbstractModel
from geomndp.model.mixture_posterior import MixturePosterior, evidences, updated_log_weights
from geomndp.model.model import Model
from geomndp.model.process_model import ProcessModel
from geomndp.model.summary import describe_mixture
from geomndp.tables import Variables

ROUNDING = 1e-12
"""Logarithm of a sum of weights that counts as one."""


def _log_weights(values: Any) -> np.ndarray:
    """Logarithms of weights that sum to one."""
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError(f"expected finite log_weights, got {_validation.brief(values)}")
    total = np.logaddexp.reduce(array)
    return array if abs(total) < ROUNDING else array - total  # those of a file stay as they are


class MixtureProcess(AbstractModel):
    r"""One of several models, which one is uncertain: $p(y) = \sum_k w_k p_k(y)$.

    Observations C update the weights, $w_k(C) \propto w_k p_k(y_C)$. Learnt members need a solve
    for $p_k(y_C)$, which `condition` makes: with an exact divergence for at most 16 observed
    values, else with eight random probes of a fixed key. Without observations none is made.

    Args:
        members: Models and process models in the data's units, with the same variables.
        log_weights: Logarithms of the weights, up to a common constant; by default all are equal.
        report: How the mixture was chosen and what was measured then, as text.

    Raises:
        ValueError: If members are of other classes, or of different outputs or names.

    Example:
        ```python
        mixture = gn.MixtureProcess((network, gaussian), np.log([0.7, 0.3]))
        mixture.condition(xc, yc).weights
        ```
    """

    members: tuple[AbstractModel, ...]
    log_weights: Any = None
    report: str | None = eqx.field(default=None, static=True)

    def __init__(self, members: Any, log_weights: Any = None, report: str | None = None):
        self.members = tuple(members)
        weights = np.zeros(len(self.members)) if log_weights is None else log_weights
        self.log_weights = _log_weights(weights)
        self.report = report

    def __check_init__(self) -> None:
        for member in self.members:
            if not isinstance(member, (Model, ProcessModel)):
                got = type(member).__name__
                raise ValueError(f"expected a Model or ProcessModel as member, got {got}")
        if len(self.log_weights) != len(self.members):
            got = f"{len(self.log_weights)} and {len(self.members)}"
            raise ValueError(f"expected as many weights as members, got {got}")
        first = self.members[0]
        for member in self.members[1:]:
            if member.manifold != first.manifold or member.variables != first.variables:
                raise ValueError("expected members of the same outputs and names, got others")

    normaliser = None
    support = None

    def __repr__(self) -> str:
        return describe_mixture(self)

    @property
    def variables(self) -> Variables | None:
        return self.members[0].variables

    @property
    def manifold(self) -> AbstractManifold:
        return self.members[0].manifold

    @property
    def input_dim(self) -> int | None:
        return self.members[0].input_dim

    @property
    def num_relative_inputs(self) -> int:
        return 0

    def posterior(self, context: Any, time_origin: str | None) -> Any:
        """Not used: members read and check observations themselves."""
        raise NotImplementedError("expected `condition` of the members to be called")

    def condition(self, *args: Any, **options: Any) -> MixturePosterior:
        """Law of the mixture given observations; arguments as those of `Model.condition`.

        A member whose transform does not know an observed value holds it impossible: its weight is
        zero, and it is left out. Where all do, the value is refused. Where the observations have no
        density under any member, the weights stay as they are, with a warning.
        """
        posteriors, kept, refusals = [], [], []
        for number, member in enumerate(self.members):
            try:
                posteriors.append(member.condition(*args, **options))
                kept.append(number)
            except OutsideDomainError as refusal:
                refusals.append(refusal)
        if not kept:
            raise refusals[0]
        evidence = evidences(tuple(posteriors))
        log_weights = jnp.asarray(self.log_weights[np.asarray(kept)], evidence.value.dtype)
        updated = updated_log_weights(log_weights, evidence.value)
        return MixturePosterior(tuple(posteriors), updated, evidence)

    def with_variables(
        self, inputs: Any, outputs: Any, units: dict[str, str] | None = None, domain: str = "real"
    ) -> MixtureProcess:
        """Give inputs and outputs of all members names; arguments as those of `Model`'s."""
        named = (member.with_variables(inputs, outputs, units, domain) for member in self.members)
        members = tuple(named)
        return MixtureProcess(members, self.log_weights, self.report)
