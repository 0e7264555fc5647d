"""Shipped models of tangent fields on the sphere: rotations, reflections and change of frames.

Points have both poles, where frames turn under every motion, a pair of antipodes, and neighbours
around a pole. The divergence is exact and the noise of samples is turned along: only rounding is
left.
"""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import load, samplers
from geomndp.equivariance import random_transform
from geomndp.experiments.sphere_fields.training import problem_for
from geomndp.experiments.vector_fields.rotated_sampler import RotatedNoiseSampler
from geomndp.geometry.geodesy import east_and_north
from geomndp.geometry.tangent_fields import rotate_field
from geomndp.likelihood import Flow
from geomndp.nets import SteerableSphere, with_parameters_of
from geomndp.solve import Heun

from ..cases import quick

NETWORK_BOUND, BOUND = 1e-4, 1e-3
KNOWN, POINTS = 3, 12
NAMES = ("sphere-fields/div-free", "sphere-fields/curl-free")
MIRROR, QUARTER = np.diag([1.0, 1.0, -1.0]), np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, -1]])
MOTIONS = {
    "rotation": lambda key: random_transform(3, key=key, reflect=False, dtype="float64").matrix,
    "reflection": lambda key: random_transform(3, key=key, reflect=True, dtype="float64").matrix,
    "poles change places": lambda key: jnp.asarray(QUARTER),
    "mirror at the equator": lambda key: jnp.asarray(MIRROR),
}


class SteerableSphereInOtherFrames(SteerableSphere):
    """The network on fields whose components are those of turned frames."""

    def _surface(self, x, mask):
        frames = jnp.einsum("nab,nbd->nad", turns(x), east_and_north(x), precision="highest")
        return self._surface_in(frames.astype(x.dtype), x, mask)


def turns(x):
    """Rotations of every tangent plane (n, 2, 2), by angles that vary from point to point."""
    angle = 1.0 + 5.0 * x[:, 0] - 3.0 * x[:, 1] + 7.0 * x[:, 2]
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([jnp.stack([cosine, -sine], 1), jnp.stack([sine, cosine], 1)], 1)


def task(name):
    """A field of the model's law at poles, antipodes, near a pole and anywhere; float64."""
    random = np.random.default_rng(3)
    x = random.standard_normal((POINTS, 3))
    x[3:7] = [0.0, 0.0, 1.0] + 0.12 * x[3:7]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[0], x[7], x[8] = [0.0, 0.0, -1.0], [0.0, 0.0, 1.0], -x[3]
    return jnp.asarray(x), problem_for(name).gp.sample(jnp.asarray(x), key=jr.key(4))


def turned(matrices, y):
    """Components in other frames, in float64."""
    return np.einsum("nab,nb->na", np.asarray(matrices, float), np.asarray(y, float))


def moved_task(matrix, x, y):
    """Points, values and change of frames after an orthogonal matrix of R^3."""
    before = east_and_north(x)
    moved_x, moved_y = rotate_field(matrix, x, y)
    frames = jnp.einsum("nac,cd,nbd->nab", east_and_north(moved_x), matrix, before)
    return moved_x, moved_y, frames


def answers(model, x, y, frames):
    """Conditional log-density per target, and a sample whose noise the frames turn."""
    x, y, frames = (jnp.asarray(part, jnp.float32) for part in (x, y, frames))
    posterior = model.condition(x[:KNOWN], y[:KNOWN])
    density = posterior.log_prob_info(x[KNOWN:], y[KNOWN:], flow=Flow(Heun(), 4)).value
    sampler = RotatedNoiseSampler(frames[KNOWN:], samplers.adams(24))
    drawn = posterior.sample(x[KNOWN:], key=jr.key(5), num_samples=1, sampler=sampler)
    return float(density) / (POINTS - KNOWN), np.asarray(drawn[0], float)


def check(found, expected, frames):
    assert abs(found[0] - expected[0]) < BOUND
    np.testing.assert_allclose(found[1], turned(frames[KNOWN:], expected[1]), atol=BOUND)


def identity():
    return jnp.broadcast_to(jnp.eye(2), (POINTS, 2, 2))


def in_other_frames(model):
    """The model whose network takes and gives components of turned frames."""
    net = model.score.net
    other = SteerableSphereInOtherFrames(**net.config.to_dict(), key=jr.key(0))
    net = with_parameters_of(other, net)
    return dataclasses.replace(model, score=dataclasses.replace(model.score, net=net))


@quick
def apply(net, t, x, y):
    return net(t, x, y)


def relative(found, expected):
    return np.linalg.norm(np.asarray(found) - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("name", NAMES)
def test_networks(name, getkey):
    """At mixed times; relative to the norm of the output."""
    model, (x, y) = load(name), task(name)
    t = jnp.where(jnp.arange(POINTS) < KNOWN, 0.0, 0.3).astype(jnp.float32)
    net, other = model.score.net, in_other_frames(model).score.net

    def run(net, x, y):
        return apply(net, t, jnp.asarray(x, t.dtype), jnp.asarray(y, t.dtype))

    plain = run(net, x, y)
    assert np.std(plain) > 0.1
    for make in MOTIONS.values():
        moved_x, moved_y, frames = moved_task(make(getkey()), x, y)
        assert relative(run(net, moved_x, moved_y), turned(frames, plain)) < NETWORK_BOUND
    frames = turns(x)
    assert relative(run(other, x, turned(frames, y)), turned(frames, plain)) < NETWORK_BOUND


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fields_turn_and_reflect(name, getkey):
    model, (x, y) = load(name), task(name)
    plain = answers(model, x, y, identity())
    for make in MOTIONS.values():
        moved_x, moved_y, frames = moved_task(make(getkey()), x, y)
        check(answers(model, moved_x, moved_y, frames), plain, frames)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_nothing_depends_on_frames(name):
    model, (x, y) = load(name), task(name)
    frames = turns(x)
    found = answers(in_other_frames(model), x, turned(frames, y), frames)
    check(found, answers(model, x, y, identity()), frames)
