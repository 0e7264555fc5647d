"""Shipped models have the symmetry that they claim: densities and posteriors, reflections included.

The divergence is exact and the noise of samples is transformed along: only rounding is left.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import load
from geomndp.equivariance import RigidTransform, random_transform
from geomndp.experiments.vector_fields.rotated_sampler import RotatedNoiseSampler
from geomndp.likelihood import Flow
from geomndp.samplers import Amortised
from geomndp.solve import Heun

BOUND = 1e-4  # nats per point
KNOWN = 3
PLANE = [f"vector-fields/{name}" for name in ("se", "curl-free", "div-free")]
LINE = [
    f"{suite}/{name}"
    for suite in ("regression1d", "regression1d-gnp2020")
    for name in ("se", "matern", "weakly-periodic", "sawtooth", "mixture")
]
QUICK = ("vector-fields/div-free", "regression1d/se")


def cases(names):
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in names]


def answers(model, x, y, matrix):
    """Conditional log-density per target, and a sample whose noise a matrix multiplies."""
    posterior = model.condition(x[:KNOWN], y[:KNOWN])
    flow = Flow(Heun(), 4)
    density = posterior.log_prob_info(x[KNOWN:], y[KNOWN:], flow=flow).value
    sampler = RotatedNoiseSampler(matrix, Amortised(4))
    drawn = posterior.sample(x[KNOWN:], key=jr.key(5), num_samples=1, sampler=sampler)
    return float(density) / (len(x) - KNOWN), np.asarray(drawn[0])


def check(model, x, y, moved_x, moved_y, matrix):
    eye = jnp.eye(len(matrix), dtype=x.dtype)
    density, drawn = answers(model, x, y, eye)
    moved_density, moved = answers(model, moved_x, moved_y, matrix)
    assert abs(moved_density - density) < BOUND
    np.testing.assert_allclose(moved, drawn @ np.asarray(matrix).T, atol=2e-3)


@pytest.mark.parametrize("name", cases(PLANE))
def test_fields_turn_shift_and_reflect(name):
    """Scattered points, where a network that is not odd in y was off by 0.017 nats per point."""
    model, keys = load(name), jr.split(jr.key(11), 3)
    x = jr.uniform(keys[0], (12, 2), jnp.float32, -2.0, 2.0)
    y = jr.normal(keys[1], (12, 2), jnp.float32)
    turn = random_transform(2, key=keys[2], reflect=False, dtype=jnp.float32)
    mirror = jnp.asarray([[1.0, 0.0], [0.0, -1.0]], jnp.float32)
    motion = RigidTransform(jnp.matmul(turn.matrix, mirror), turn.shift)
    assert float(jnp.linalg.det(motion.matrix)) < 0
    moved = motion.act_on_inputs(x), jnp.matmul(y, motion.matrix.T, precision="highest")
    check(model, x, y, *moved, motion.matrix)


@pytest.mark.parametrize("name", cases(LINE))
def test_lines_shift(name):
    model, keys = load(name), jr.split(jr.key(12), 2)
    # Binary fractions, so that a shift leaves the differences of the inputs the same to the bit.
    x = jr.randint(keys[0], (10, 1), -(2**13), 2**13).astype(jnp.float32) / 2**12
    scale = jax.device_get(model.noising.gram(x).diagonal()[0, 0]) ** 0.5
    y = model.noising.mean_at(x) + float(scale) * jr.normal(keys[1], (10, 1), jnp.float32)
    check(model, x, y, x + 4.0, y, jnp.eye(1, dtype=jnp.float32))
