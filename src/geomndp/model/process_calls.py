"""What a process is asked given observations, in its own units: pure functions, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files
from geomndp._types import Array, Inputs, Outputs
from geomndp.gp import AbstractGP
from geomndp.linalg import row_mask
from geomndp.marginals import AbstractMarginals
from geomndp.model._jit import program, traced
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb, exact_log_prob
from geomndp.samplers import Observations


def call(fn: Callable, process: AbstractProcess, *args: Any) -> Any:
    """Call a function of a process, compiled once per structure where JAX traces nothing."""
    if traced((process, args)):
        return fn(process, *args)
    process = with_room(with_array_parameters(process), args)
    return program(fn, process, *args)(process, *args)


def with_array_parameters(process: AbstractProcess) -> AbstractProcess:
    """Numbers of a registered process as arrays: one program serves all that differ in them."""
    if _model_files.tag_of(type(process)) is None:
        return process
    return jax.tree.map(lambda v: np.float64(v) if isinstance(v, float) else v, process)


def with_room(process: AbstractProcess, args: tuple) -> AbstractProcess:
    """A process on a grid with room for all points of a request: observations and targets."""
    if not hasattr(process, "with_room"):
        return process
    given, resizable = args[0], cast(Any, process)
    observed, x = row_mask(given.mask), np.asarray(given.x)
    targets = [arg for arg in args[1:2] if np.ndim(arg) == 2]
    return resizable.with_room(x if observed is None else x[np.asarray(observed) > 0], *targets)


def law(process: AbstractProcess, given: Observations) -> AbstractPredictive:
    """The process given observations."""
    return process.condition(given.x, given.y, given.noise if given.noisy else 0.0, given.mask)


def draw(
    process: AbstractProcess, given: Observations, x: Inputs, key: Any, num_samples: int
) -> Array:
    """Samples (s, n, p)."""
    return law(process, given).sample(x, key=key, num_samples=num_samples)


def colour(process: AbstractProcess, given: Observations, x: Inputs, z: Array) -> Array:
    """Samples (s, n, p) of a Gaussian process from standard normal numbers."""
    gaussian: Any = law(process, given)
    return gaussian.colour(x, z.astype(x.dtype))


def density(
    process: AbstractProcess,
    given: Observations,
    x: Inputs,
    y: Outputs,
    mask: Any,
    key: Any,
) -> LogProb:
    """Joint log-density of y (n, p) at x."""
    return law(process, given).log_prob_info(x, y, key=key, mask=mask)


def row_densities(
    process: AbstractProcess, given: Observations, x: Inputs, y: Outputs, key: Any
) -> Array:
    """Log-density of every row of y (n, p) by itself, of a neural process, shape (n,)."""
    neural: Any = law(process, given)
    return neural.marginal_log_prob(x, y, key=key)


def marginals(
    process: AbstractProcess, given: Observations, x: Inputs, key: Any, num_samples: int
) -> AbstractMarginals:
    """Law of every value at x by itself."""
    return law(process, given).marginals(x, key=key, num_samples=num_samples)


def evidence(process: AbstractProcess, given: Observations, key: Any) -> LogProb:
    """Log-density of the observations, with their noise, under the prior."""
    if len(given.x) == 0:
        return exact_log_prob(jnp.zeros((), given.y.dtype))
    if given.noisy and isinstance(process, AbstractGP):
        gram = process.gram(given.x).add_diagonal(given.noise).masked(given.mask)
        return exact_log_prob(gram.log_density(given.y - process.mean_at(given.x), given.mask))
    if given.noisy:
        name = type(process).__name__
        raise ValueError(f"expected observations without noise for the evidence of {name}")
    prior = process.condition(given.x[:0], given.y[:0])
    return prior.log_prob_info(given.x, given.y, key=key, mask=given.mask)
