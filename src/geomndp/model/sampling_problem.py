"""A request for samples: checked, and as the problem that a sampler works on."""

from __future__ import annotations

from typing import Any

from geomndp.model.inputs import check_request, wanted_values
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.units import read_target_inputs
from geomndp.samplers import AbstractSampler, Problem
from geomndp.samplers.base import require_outputs_apart


def sampling_problem(
    posterior: Any,
    x: Any,
    key: Any,
    num_samples: Any,
    sampler: AbstractSampler | None = None,
    mask: Any = None,
) -> tuple[AbstractSampler, Problem]:
    """Check a request, and warn where it leaves what training saw.

    Args:
        posterior: A `Posterior`.
        x: Inputs, shape (n, d) or (n,), or a table.
        key: Random key.
        num_samples: Number of draws.
        sampler: Sampler, by default that of the posterior.
        mask: 1 for targets, 0 for padding, shape (n,) or (n, p).

    Returns:
        The sampler, and the problem in the model's units.
    """
    chosen: AbstractSampler = posterior.default_sampler() if sampler is None else sampler
    check_request(num_samples, chosen, key)
    x, model = read_target_inputs(posterior, x), posterior.model
    mask = wanted_values(mask, (len(x), model.noising.dim), model.score.num_groups)
    problem = posterior.problem(x, mask)
    if problem.observed_apart:
        require_outputs_apart(chosen)
    chosen.check(problem)
    warn_about_targets(posterior, problem.x)
    return chosen, problem
