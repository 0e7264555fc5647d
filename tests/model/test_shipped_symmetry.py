"""Shipped models have the symmetry that they claim: densities and posteriors, reflections included.

The divergence is exact and the noise of samples is transformed along: only rounding is left. Fields
on the sphere: test_shipped_sphere.py.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import _model_files, load
from geomndp.equivariance import RigidTransform, random_transform
from geomndp.experiments.vector_fields.rotated_sampler import RotatedNoiseSampler
from geomndp.geometry.geodesy import to_unit
from geomndp.likelihood import Flow, FlowMapDensity
from geomndp.samplers import Amortised, FlowMap
from geomndp.solve import Heun

BOUND = 1e-4  # nats per point
KNOWN = 3
# All that ship, so that a new one is tested without being named here.
CLAIMED = [name for name in _model_files.names() if not name.endswith("-ndp")]
PLANE = [name for name in CLAIMED if name.startswith("vector-fields/")]
LINE = [name for name in CLAIMED if name.startswith(("regression1d", "neural-processes"))]
AXIS = ["cyclones/ibtracs-axis"]
ELSEWHERE = ["sphere-fields/curl-free", "sphere-fields/div-free"]
WITHOUT = ["cyclones/ibtracs", "cyclones/ibtracs-latlon", "sphere-winds/gfs-residual"]
QUICK = ("vector-fields/div-free", "regression1d/se")


def cases(names):
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in names]


def test_every_shipped_model_is_tested_or_claims_nothing():
    assert sorted(PLANE + LINE + AXIS + ELSEWHERE + WITHOUT) == sorted(CLAIMED)


def settings(name, matrix):
    """Of a density, and of a sample whose noise a matrix multiplies."""
    if name.startswith("neural-processes"):
        return {}, {}
    student = name.endswith("-student")
    flow = FlowMapDensity(2) if student else Flow(Heun(), 4)
    sampler = RotatedNoiseSampler(matrix, FlowMap(2) if student else Amortised(4))
    return {"flow": flow}, {"sampler": sampler}


def answers(name, x, y, matrix):
    """Conditional log-density per target, and a sample whose noise a matrix multiplies."""
    posterior, (flow, sampler) = load(name).condition(x[:KNOWN], y[:KNOWN]), settings(name, matrix)
    density = posterior.log_prob_info(x[KNOWN:], y[KNOWN:], **flow).value
    drawn = posterior.sample(x[KNOWN:], key=jr.key(5), num_samples=1, **sampler)
    return float(density) / (len(x) - KNOWN), np.asarray(drawn[0])


def check(name, x, y, moved_x, moved_y, matrix):
    eye = jnp.eye(len(matrix), dtype=x.dtype)
    density, drawn = answers(name, x, y, eye)
    moved_density, moved = answers(name, moved_x, moved_y, matrix)
    assert abs(moved_density - density) < BOUND
    np.testing.assert_allclose(moved, drawn @ np.asarray(matrix).T, atol=2e-3)


@pytest.mark.parametrize("name", cases(PLANE))
def test_fields_turn_shift_and_reflect(name):
    """Scattered points, where a network that is not odd in y was off by 0.017 nats per point."""
    keys = jr.split(jr.key(11), 3)
    x = jr.uniform(keys[0], (12, 2), jnp.float32, -2.0, 2.0)
    y = jr.normal(keys[1], (12, 2), jnp.float32)
    turn = random_transform(2, key=keys[2], reflect=False, dtype=jnp.float32)
    mirror = jnp.asarray([[1.0, 0.0], [0.0, -1.0]], jnp.float32)
    motion = RigidTransform(jnp.matmul(turn.matrix, mirror), turn.shift)
    assert float(jnp.linalg.det(motion.matrix)) < 0
    moved = motion.act_on_inputs(x), jnp.matmul(y, motion.matrix.T, precision="highest")
    check(name, x, y, *moved, motion.matrix)


@pytest.mark.parametrize("name", cases(LINE))
def test_lines_shift(name):
    """By a multiple of the spacing of a convolutional process's grid."""
    keys, ((low, high),) = jr.split(jr.key(12), 2), load(name).support.outputs
    # Binary fractions, so that a shift leaves the differences of the inputs the same to the bit.
    x = jr.randint(keys[0], (10, 1), -(2**13), 2**13).astype(jnp.float32) / 2**12
    y = (low + high) / 2 + (high - low) / 8 * jr.normal(keys[1], (10, 1), jnp.float32)
    check(name, x, y, x + 4.0, y, jnp.eye(1, dtype=jnp.float32))


@pytest.mark.slow
@pytest.mark.parametrize("name", AXIS)
def test_tracks_turn_about_the_axis(name):
    """Densities alone: the noise of samples is that of frames, which turn with the track."""
    posterior_of, steps = load(name).condition, np.arange(6)
    t, flow = jnp.asarray(steps, jnp.float32)[:, None] / 8, Flow(Heun(), 4)
    found = []
    for turn in (0.0, 77.0):
        track = to_unit(15 + 0.5 * steps, 130 - 0.7 * steps + turn)
        y = jnp.asarray(track, jnp.float32)
        posterior = posterior_of(t[:KNOWN], y[:KNOWN])
        found.append(posterior.log_prob_info(t[KNOWN:], y[KNOWN:], flow=flow).value)
    # Of 22 nats per point in float32.
    assert abs(float(found[1] - found[0])) / 3 < 10 * BOUND
