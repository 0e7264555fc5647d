"""Physical checks: fields with known derivatives, and the exact process through a sampler."""

import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import covariance, disc, field_problem
from geomndp.equivariance import symmetric_basis
from geomndp.evaluate import field_physics, physics
from geomndp.experiments.vector_fields.physics import sample_physics
from geomndp.gp import GP
from geomndp.kernels import Diagonal, White
from geomndp.model import Model
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GridGaussianScore


def on(name, points=8, dim=2, half_width=3.0):
    return field_problem(name, dim)._replace(grid=disc(points, half_width, dim))


def away(entry, key):
    """Distance from the exact process in standard errors."""
    return (entry[key][0] - entry["exact"]) / entry[key][1]


@pytest.mark.parametrize("dim", [2, 3])
def test_linear_fields_have_exact_derivatives(dim, getkey):
    problem = on("se", 5, dim)
    slope = np.asarray(jr.normal(getkey(), (dim, dim)))  # v_b = slope_ba x_a
    operators = physics.difference_operators(problem)
    found = {k: op @ (problem.grid @ slope.T).reshape(-1) for k, op in operators.items()}
    assert_allclose(found["divergence"], np.trace(slope), rtol=1e-9)
    pairs = zip(*np.triu_indices(dim, 1), strict=True)
    expected = np.array([slope[b, a] - slope[a, b] for a, b in pairs])
    got = found["curl"].reshape(len(expected), -1)
    assert_allclose(got, np.broadcast_to(expected[:, None], got.shape), rtol=1e-9, atol=1e-9)


def test_rows_of_a_hessian_have_no_curl():
    problem = on("hessian")
    x, y = problem.grid.T
    # Second derivatives of x^3 + 2 x^2 y + y^3, linear in the place.
    tensor = np.array([[6 * x + 4 * y, 4 * x], [4 * x, 6 * y]])
    values = np.einsum("abn,abp->np", tensor, symmetric_basis(2)).reshape(-1)
    operators = physics.difference_operators(problem)
    assert_allclose(operators["curl"] @ values, 0, atol=1e-9)
    rows = (operators["divergence"] @ values).reshape(2, -1)
    assert_allclose(rows, np.broadcast_to([[6.0], [10.0]], rows.shape), rtol=1e-9)


def test_parts_of_smooth_fields_are_told_apart():
    problem = on("se", 14, 2, 7.0)
    problem = problem._replace(gp=GP(problem.gp.kernel, noise=1e-6))
    x, y = problem.grid.T
    gradient = np.stack([np.cos(x) * np.sin(y), np.sin(x) * np.cos(y)], -1)  # of sin x sin y
    rotation = np.stack([gradient[:, 1], -gradient[:, 0]], -1)
    for values, share in ((gradient, 1.0), (rotation, 0.0)):
        parts = [op @ values.reshape(-1) for op in physics.helmholtz_operators(problem)]
        energies = [np.sum(part**2) for part in parts]
        assert abs(energies[0] / sum(energies) - share) < 0.02


@pytest.mark.parametrize("name", ["curl-free", "div-free"])
def test_exact_score_has_the_physics_of_the_process(name):
    problem = on(name, 10, 2, 3.1)
    exact = GridGaussianScore(covariance(problem.gp, problem.grid), 2, 0, "float32")
    noising = OrnsteinUhlenbeck(Diagonal(White(1.02), 2), LinearSchedule(1e-4, 15.0))
    found = sample_physics(Model(noising, exact), problem, num=200, key=jr.key(0), batch_size=100)
    allowed, forbidden = "divergence", "curl"
    if name == "div-free":
        allowed, forbidden = forbidden, allowed
    assert abs(away(found[allowed], "rms")) < 4
    assert abs(away(found[forbidden], "rms")) < 4
    assert found[forbidden]["exact"] < 1.02 * found[forbidden]["noise"]
    assert found[allowed]["exact"] > 3 * found[forbidden]["exact"]
    assert abs(away(found["gradient_share"], "share")) < 4
    assert (found["gradient_share"]["exact"] > 0.8) is (name == "curl-free")


def test_a_wrong_law_is_found_out():
    right, wrong = on("div-free"), on("se")
    found = field_physics(right, np.asarray(wrong.tasks(64).y))
    assert away(found["divergence"], "rms") > 10
    assert away(found["gradient_share"], "share") > 10


def test_refusals():
    problem = on("se")
    scattered = problem._replace(grid=np.random.default_rng(0).uniform(-1, 1, (9, 2)))
    with pytest.raises(ValueError, match="expected points of a regular grid"):
        field_physics(scattered, np.zeros((2, 9, 2)))
    with pytest.raises(ValueError, match="expected samples"):
        field_physics(problem, np.zeros((2, 3, 2)))
