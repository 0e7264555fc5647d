"""Log-likelihoods of fields on one grid, the context where it stands: the graph is built once.

All results are nats per target point, its components together.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import solve_triangular

from geomndp import _validation
from geomndp._types import Array, Batch, Float, Inputs, Mask, Outputs
from geomndp.data import covariance
from geomndp.evaluate.log_likelihood import PerTarget
from geomndp.evaluate.resumable import AbstractMeasurement
from geomndp.gp import GP
from geomndp.likelihood import Flow
from geomndp.model.likelihood_routes import ROUTES
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore
from geomndp.solve import AbstractDynamics, ConditionalDynamics


class InPlace(AbstractDynamics):
    """Free points among observed ones: the flow moves those with mask 1, the others stay.

    `ConditionalDynamics` puts the context first instead: another order of points for every field.
    """

    noising: AbstractNoising
    score: AbstractScore
    x: Inputs
    mask: Mask
    grid: Inputs
    observed: Outputs

    def u(self, t, y):
        times = jnp.where(self.mask > 0, t, 0.0)
        values = jnp.where(self.mask[:, None] > 0, y, self.observed)
        return self.score(self.noising, times, self.grid, values, None)


class GridLogProbs(AbstractMeasurement):
    """Log-density per target of fields on a grid given their contexts.

    Items are values, context marks and one key a field. Route "conditional" holds the context at
    time zero; "joint" is log p(field) - log p(context), for contexts of `contexts` points each.
    """

    grid: Inputs
    flow: Flow
    contexts: int = eqx.field(static=True)
    route: str = eqx.field(default="conditional", static=True)
    batch_size: int = eqx.field(default=32, static=True)

    def __check_init__(self) -> None:
        _validation.one_of("route", self.route, ROUTES)

    def __call__(self, model, items):
        targets = len(self.grid) - self.contexts

        def one(item):
            y, context, key = item
            rule = self._conditional if self.route == "conditional" else self._joint
            result = rule(model, y, context, key)
            return PerTarget(*(value / targets for value in result))._asdict()

        return jax.lax.map(one, items, batch_size=min(self.batch_size, len(items[0])))

    def _conditional(self, model, y, context, key):
        parts = (model.noising, model.score, self.grid, 1.0 - context, self.grid, y)
        return self.flow.log_prob(InPlace(*parts), y, model.t_min, key=key)[:3]

    def _joint(self, model, y, context, key):
        whole_key, part_key = jax.random.split(key)
        field = ConditionalDynamics(model.noising, model.score, self.grid)
        whole = self.flow.log_prob(field, y, model.t_min, key=whole_key)
        _, place = jax.lax.top_k(context, self.contexts)
        field = dataclasses.replace(field, x=self.grid[place])
        part = self.flow.log_prob(field, y[place], model.t_min, key=part_key)
        probe_error = jnp.hypot(whole.probe_error, part.probe_error)
        return whole.value - part.value, whole.solver_error + part.solver_error, probe_error


def gp_log_probs(gp: GP, tasks: Batch) -> tuple[Float[Array, " tasks"], Float[Array, " tasks"]]:
    """Log-density per target under the exact process, and under its marginals at single points.

    The second is the best that a model without correlations between points can do; the components
    at a point are told together. One factorisation of the grid serves all fields; computed in
    double precision on the host.
    """
    matrix = covariance(gp, np.asarray(tasks.x[0], float))
    values, contexts = np.asarray(tasks.y, float), np.asarray(tasks.context) > 0
    whole = np.linalg.cholesky(matrix)
    rows = [_rows(matrix, whole, y, context) for y, context in zip(values, contexts, strict=True)]
    exact, diagonal = np.asarray(rows).T
    dtype = tasks.y.dtype
    return jnp.asarray(exact, dtype), jnp.asarray(diagonal, dtype)


def _rows(matrix, whole, y, context) -> tuple[float, float]:
    """Exact and diagonal log-density per target of one field."""
    copies = len(matrix) // len(y)
    flat, known = y.reshape(len(matrix), -1), np.repeat(context, copies)
    inner = np.linalg.cholesky(matrix[np.ix_(known, known)])
    half = solve_triangular(inner, matrix[np.ix_(known, ~known)], lower=True)
    white = solve_triangular(inner, flat[known], lower=True)
    targets = int((~context).sum())
    exact = _log_density(whole, solve_triangular(whole, flat, lower=True)) - _log_density(
        inner, white
    )
    gaps = (flat[~known] - half.T @ white).reshape(targets, copies, -1)
    diagonal = _at_single_points(matrix[np.ix_(~known, ~known)], half, gaps)
    return exact / targets, diagonal / targets


def _at_single_points(prior, half, gaps) -> float:
    """Sum over points of the log-density of their gaps (targets, p, columns), point by point."""
    targets, p, columns = gaps.shape
    at = np.arange(targets)
    blocks = prior.reshape(targets, p, targets, p)[at, :, at]
    parts = half.reshape(len(half), targets, p)
    factors = np.linalg.cholesky(blocks - np.einsum("ktp,ktq->tpq", parts, parts))
    white = np.linalg.solve(factors, gaps)
    logdet = np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2)))
    return float(-0.5 * np.sum(white**2 + np.log(2 * np.pi)) - columns * logdet)


def _log_density(factor, white) -> float:
    """Log-density of every column of L w together, given the white w."""
    logdet = 2 * np.sum(np.log(np.diag(factor)))
    return -0.5 * (np.sum(white**2) + white.shape[1] * (logdet + len(white) * np.log(2 * np.pi)))
