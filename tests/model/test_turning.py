"""Models that turn with their inputs: samples, posterior samples, likelihoods; unseen locations.

Noise is turned too, so that a sample must turn into the sample of the turned problem.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import samplers
from geomndp.equivariance import random_transform
from geomndp.kernels import Diagonal, White
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import Model
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.solve import ConditionalDynamics, Heun

from ..cases import quick
from ..nets.steerable import STEERABLE, awake
from ..samplers.helper import noise_for, run_with

BOUNDS = {"float32": 1e-3, "float64": 1e-8}
SAMPLERS = {"amortised": samplers.Amortised(2), "langevin": samplers.Langevin(1, 1)}
M = 4
slow = pytest.mark.slow
# Covariates ("-side") belong to their locations and need no test of their own here.
FAST = ("plane-vector-float64",)
CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype}", marks=mark)
    for name in STEERABLE
    if not name.endswith("-side")
    for dtype in BOUNDS
    for mark in [() if f"{name}-{dtype}" in FAST else slow]
]


def locations(net, dtype):
    """A small regular grid, observed points first."""
    d = net.field_type.dim
    axis = 0.6 * np.arange(3 if d == 2 else 2)
    x = np.stack(np.meshgrid(*[axis] * d), axis=-1).reshape(-1, d)
    return jnp.asarray(np.random.default_rng(0).permutation(x), dtype)


def make(name, dtype, key):
    net = awake(name, key=key, dtype=dtype)
    kernel = Diagonal(White(1.1), net.output_dim)
    noising = OrnsteinUhlenbeck(kernel, LinearSchedule(1e-4, 15.0))
    return net, Model(noising, NetworkScore(net, conditional=True))


def relative(found, expected):
    return float(jnp.linalg.norm(found - expected) / jnp.linalg.norm(expected))


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_samples_and_likelihoods_turn(name, dtype, getkey):
    net, model = make(name, dtype, getkey())
    x = locations(net, dtype)
    y = jr.normal(getkey(), (len(x), net.output_dim), dtype)
    probe = jr.rademacher(getkey(), (1, *y[M:].shape), dtype)
    g = random_transform(net.field_type.dim, key=getkey(), dtype=dtype)
    sampler = SAMPLERS["amortised" if name.startswith("plane") else "langevin"]

    def problem(x, y, observed):
        noise = jnp.zeros(observed, dtype)
        seen = samplers.Observations(x[:observed], y[:observed], noise, False)
        return samplers.Problem(model.noising, model.score, x[observed:], seen, model.t_min)

    @quick
    def run(x, y, noises, probe):
        """A prior sample, a posterior sample, and a divergence estimate of the likelihood."""
        prior = run_with(SAMPLERS["amortised"].program(problem(x, y, 0)), noises[0])
        posterior = run_with(sampler.program(problem(x, y, M)), noises[1])
        field = ConditionalDynamics(model.noising, model.score, x[M:])
        flow = Flow(Heun(), 2, divergence=Fixed(probe))
        return prior, posterior, flow.log_prob(field, y[M:], model.t_min).value

    programs = SAMPLERS["amortised"].program(problem(x, y, 0)), sampler.program(problem(x, y, M))
    noises = [
        [tuple(z.astype(dtype) for z in group) for group in noise_for(program, key=getkey())]
        for program in programs
    ]
    plain = run(x, y, noises, probe)

    def turn(v):
        return jax.vmap(lambda v: g.act_on_outputs(v, net.field_type))(v.reshape(-1, *v.shape[-2:]))

    turned = jax.tree.map(lambda z: turn(z).reshape(z.shape), noises)
    moved = run(
        g.act_on_inputs(x),
        g.act_on_outputs(y, net.field_type),
        turned,
        turn(probe).reshape(probe.shape),
    )
    for found, expected in zip(moved[:2], plain[:2], strict=True):
        assert bool(jnp.all(jnp.isfinite(expected)))
        assert relative(found, g.act_on_outputs(expected, net.field_type)) < BOUNDS[dtype]
    assert relative(moved[2], plain[2]) < BOUNDS[dtype]


class Fixed(Hutchinson):
    """Probes that are given, so that they can be turned."""

    directions: jax.Array

    def __init__(self, directions):
        self.probes, self.distribution, self.chunk = len(directions), "rademacher", 64
        self.directions = directions

    def prepare(self, y, mask, *, key=None):
        return self.directions


@pytest.mark.parametrize("shape", [pytest.param("finer", marks=slow), "scattered", "one"])
def test_unseen_places(shape, getkey):
    _, model = make("plane-vector", "float32", getkey())
    side = {"finer": 7, "scattered": 4, "one": 1}[shape]
    axis = np.linspace(-1.0, 1.0, side)
    x = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    if shape == "scattered":
        x = np.random.default_rng(0).uniform(-1, 1, x.shape)
    x = jnp.asarray(x, jnp.float32)
    posterior = model.condition(x[:1] + 0.1, jnp.ones((1, 2), jnp.float32))
    draws = posterior.sample(x, key=getkey(), num_samples=2, sampler=samplers.Amortised(2))
    assert draws.shape == (2, len(x), 2)
