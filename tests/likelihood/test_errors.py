"""How fast solves converge, and whether they know how far they are from the limit."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import score, solve
from geomndp.gp import GP
from geomndp.likelihood import Flow

from ..cases import SOLVERS
from .helper import CONVERGED, DATA, White, batch, batch_values, draw, gaussian, ou, per_point

# Independent values: the noise of the data alone, which makes the flow as stiff as it gets.
NOISE = score.GaussianScore(GP(White(0.05**2)))


def noise(*, key):
    """A batch of such values."""
    x, y = draw(GP(White(0.05**2)), key=key)
    return x, y, batch_values(Flow(steps=512), ou(), NOISE, x, y)


@pytest.mark.parametrize("name", SOLVERS)
def test_order_of_convergence(name):
    solver, order = SOLVERS[name]
    x, y, limit = noise(key=jr.key(1))
    steps = {1: 256, 2: 64, 4: 32}[order]
    errors = [
        per_point(batch_values(Flow(solver, size), ou(), NOISE, x, y), limit)
        for size in (steps, 2 * steps)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.3


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("steps", [16, 33])
def test_estimated_error_is_honest(name, steps):
    x, y, limit = noise(key=jr.key(2))
    result = batch(Flow(SOLVERS[name][0], steps), ou(), NOISE, x, y)
    ratio = np.abs(result.value - limit) / result.solver_error
    assert np.max(ratio) < 3  # no function's error is much understated
    assert 0.3 < np.median(ratio)  # nor are they overstated


@pytest.mark.parametrize("limit", [pytest.param("white", marks=pytest.mark.slow), "se-1"])
def test_estimated_error_is_honest_for_correlated_data(limit):
    x, y = draw(DATA["se"], key=jr.key(1))
    result = batch(Flow(), ou(limit), gaussian(), x, y)
    converged = batch_values(CONVERGED, ou(limit), gaussian(), x, y)
    error = np.abs(result.value - converged)
    assert np.all(error < 3 * result.solver_error)
    # With a limit that is not white the errors of end law and integral nearly cancel.
    assert np.mean(result.solver_error) < {"white": 3, "se-1": 30}[limit] * np.mean(error)


def test_a_solver_of_unknown_order_is_not_trusted():
    class Other(solve.AbstractFixedStepSolver):
        evaluations = 2

        def step(self, dynamics, t0, t1, y):
            return solve.Heun().step(dynamics, t0, t1, y)

    x, y, _ = noise(key=jr.key(3))
    known = batch(Flow(solve.Heun()), ou(), NOISE, x, y)
    unknown = batch(Flow(Other()), ou(), NOISE, x, y)
    assert np.allclose(unknown.solver_error, 3 * known.solver_error)


def test_adaptive_solver_agrees():
    x, y, limit = noise(key=jr.key(4))
    flow = Flow(solve.Adaptive(rtol=1e-4, atol=1e-5))
    result = batch(flow, ou(), NOISE, x, y)
    error = jnp.abs(result.value - limit)
    assert np.all(error < result.solver_error) and per_point(result.solver_error, 0.0) < 1e-2
    assert np.all(result.evaluations < 250)
