r"""Expected log-likelihoods of the exact process, in closed form.

Given the context the targets are Gaussian with covariance S, so that the expected joint
log-density over the values is $-\frac12 \log\det(2 \pi e S)$ with
$\log\det S = \log\det K - \log\det K_{cc}$; of the product of the marginals (the diagonal process)
it is $-\frac12 \sum_i \log(2 \pi e S_{ii})$.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.data import FieldProblem, covariance

LOG_2PIE = math.log(2 * math.pi * math.e)


class ExpectedNats(NamedTuple):
    """Expected log-densities per target point, all components together.

    Attributes:
        joint: Of the exact process.
        diagonal: Of the product of its marginals.
        standard_error: Of `joint`, over the random contexts.
    """

    joint: float
    diagonal: float
    standard_error: float


def expected_nats(problem: FieldProblem, *, num_contexts: int = 200, seed: int = 0) -> ExpectedNats:
    """Expected log-likelihoods of the targets given random contexts, averaged over these.

    Args:
        problem: The process, its points and the number of context points.
        num_contexts: Number of random contexts.
        seed: Seed of the contexts.

    Returns:
        Nats per target point: expectations over the values.

    Raises:
        ValueError: If no target would remain.
    """
    _validation.at_least(2, num_contexts=num_contexts)
    n, c = len(problem.grid), problem.contexts
    _validation.at_least(c + 1, points=n)
    matrix = covariance(problem.gp, problem.grid)
    width = len(matrix) // n
    copies = problem.gp.dim // width
    total = np.linalg.slogdet(matrix)[1]
    random = np.random.default_rng(seed)
    joint, diagonal = np.empty(num_contexts), np.empty(num_contexts)
    for k in range(num_contexts):
        context = random.permutation(n)[:c]
        known = (width * context[:, None] + np.arange(width)).reshape(-1)
        rest = np.delete(np.arange(len(matrix)), known)
        factor = np.linalg.cholesky(matrix[np.ix_(known, known)])
        gain = np.linalg.solve(factor, matrix[np.ix_(known, rest)])
        variance = np.diag(matrix)[rest] - np.sum(gain**2, axis=0)
        volume = total - 2 * np.sum(np.log(np.diag(factor)))
        nats = np.array([volume, np.sum(np.log(variance))]) + len(rest) * LOG_2PIE
        joint[k], diagonal[k] = -0.5 * copies * nats / (n - c)
    error = joint.std(ddof=1) / math.sqrt(num_contexts)
    return ExpectedNats(float(joint.mean()), float(diagonal.mean()), float(error))
