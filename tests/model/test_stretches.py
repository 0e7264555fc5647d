"""Buckets, blocks and stretches: few programs, bounded memory, and the same answers."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import _arrays, _progress
from geomndp._arrays import bucket, bucket_below
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import _jit, sampling
from geomndp.model.likelihood_routes import log_prob
from geomndp.model.sampling import draw
from geomndp.samplers import AbstractSampler, Amortised, Langevin
from geomndp.solve import Adaptive

from ..cases import compilations

FEW = Amortised(3)
QUICK = Flow(steps=4)
SAME = {"rtol": 1e-6, "atol": 1e-8}


def test_buckets_are_few_and_waste_little():
    sizes = [bucket(n) for n in range(10_001)]
    assert all(n <= size <= max((1.25 if n > 32 else 1.5) * n, 4) for n, size in enumerate(sizes))
    assert sizes[401] == 448 and sorted(set(sizes[30:90])) == [32, 40, 48, 56, 64, 80, 96]
    assert all(bucket(size) == size == bucket_below(size) for size in set(sizes))
    assert len(set(sizes)) < 48
    assert all(
        bucket_below(n) <= n and bucket(n) in (n, bucket(bucket_below(n) + 1))
        for n in range(1, 999)
    )


@pytest.fixture
def posterior(learnt, function):
    x, y = function
    return learnt.condition(x[:3], y[:3])


def values(n):
    x = np.linspace(-1.5, 1.5, n)[:, None]
    return x, np.sin(3 * x)


def test_a_new_number_of_points_compiles_nothing(learnt):
    def ask(m, n):
        (xc, yc), (x, y) = values(m), values(n)
        posterior = learnt.condition(xc, yc, noise=0.01)
        posterior.sample(x, key=jr.key(0), num_samples=2, sampler=FEW)
        return posterior.log_prob_info(x, y, flow=QUICK).value

    ask(5, 12)
    assert compilations(lambda: [ask(m, n) for m, n in ((6, 9), (5, 10), (6, 11))]) == 0


def test_programs_are_bounded_and_the_last_used_stay(posterior, monkeypatch):
    monkeypatch.setattr(_jit, "MAX_PROGRAMS", 3)
    for n in (1, 2, 1):
        posterior.sample(values(n)[0], key=jr.key(0), num_samples=1, sampler=FEW)
        assert _jit.num_programs() <= 3
    assert (
        compilations(lambda: posterior.sample(values(1)[0], key=0, sampler=FEW, num_samples=1)) == 0
    )
    _jit.forget_programs()
    assert _jit.num_programs() == 0


def test_blocks_and_stretches_change_nothing(posterior, monkeypatch):
    x, _ = values(5)
    problem = posterior.problem(jnp.asarray(x))
    expected = draw(FEW, problem, jr.key(1), 5)
    ask = {"key": jr.key(1), "num_samples": 5, "sampler": FEW}
    whole = posterior.sample_info(x, **ask)
    monkeypatch.setattr(sampling, "BLOCK_POINTS", {"cpu": 20})
    monkeypatch.setattr(_progress, "CALLED_SECONDS", 0.0)
    blocks = []
    parts = posterior.sample_info(x, **ask, progress=blocks.append)
    for found in (whole, parts):
        assert_allclose(found.y, expected.y, **SAME)
        assert_allclose(found.info.rms, expected.info.rms, **SAME)
    # Three blocks of two samples, three stretches each.
    assert len(blocks) == 9 and blocks == sorted(blocks) and blocks[-1] == 5


def test_memory_is_bounded(posterior, monkeypatch):
    x, _ = values(5)
    ask = {"key": jr.key(1), "num_samples": 6, "sampler": FEW}
    expected, made = posterior.sample(x, **ask), []

    def noted(fn, *args):
        made.append((fn.__name__, len(args[3]) if "samples" in fn.__name__ else 0))
        return found(fn, *args)

    found = sampling.program
    monkeypatch.setattr(sampling, "program", noted)
    need = _jit.CompiledProgram.memory
    monkeypatch.setattr(_jit.CompiledProgram, "memory", lambda self: 600)
    monkeypatch.setattr(_jit.Bound, "exceeded", lambda self, *_: made[-1][1] > 2)
    assert_allclose(posterior.sample(x, **ask, max_memory=200), expected, **SAME)
    assert {size for _, size in made} == {6, 2}
    monkeypatch.undo()
    assert need(next(iter(_jit._programs.values()))) > 0
    with pytest.raises(MemoryError, match=r"at least .* GiB for so many points, got max_memory"):
        posterior.sample(x, **ask, max_memory=1)
    with pytest.raises(ValueError, match="max_memory to be a whole number >= 1, got 0"):
        posterior.sample(x, **ask, max_memory=0)


def test_slow_steps_make_smaller_blocks(posterior, monkeypatch):
    """Once in a request: every new size is compiled."""
    monkeypatch.setattr(_progress.Clock, "slow", property(lambda self: True))
    made, found = [], sampling.program
    monkeypatch.setattr(
        sampling, "program", lambda fn, *args: made.append(len(args[3])) or found(fn, *args)
    )
    x, _ = values(2)
    assert posterior.sample(x, key=0, num_samples=4, sampler=FEW).shape == (4, 2, 1)
    assert set(made) == {4, 3}


DENSITIES = {
    "conditional-exact": ("conditional", Exact(2)),
    "joint-probes": ("joint", Hutchinson(3, chunk=2)),
    "conditional-probes": ("conditional", Hutchinson(3, chunk=2)),
    "joint-exact": ("joint", Exact(2)),
}
slow = pytest.mark.slow


@pytest.mark.parametrize(
    "name",
    ["joint-probes", *(pytest.param(k, marks=slow) for k in DENSITIES if k != "joint-probes")],
)
def test_densities_in_stretches(posterior, name, monkeypatch):
    route, divergence = DENSITIES[name]
    monkeypatch.setattr(_progress, "STRETCH_SECONDS", 0.0)
    flow, (x, y) = Flow(steps=4, divergence=divergence), values(5)
    steps = []
    found = posterior.log_prob_info(
        x, y, key=jr.key(2), flow=flow, route=route, progress=steps.append
    )
    problem = posterior.problem(jnp.asarray(x))
    expected = jax.jit(lambda y: log_prob(flow, problem, y, None, jr.key(2), route))(jnp.asarray(y))
    for name in found._fields:
        assert_allclose(getattr(found, name), getattr(expected, name), **SAME, err_msg=name)
    assert len(steps) == 6 * (2 if route == "joint" else 1)


def test_densities_split_their_directions_to_fit(posterior, monkeypatch):
    x, y = values(4)
    expected = posterior.log_prob_info(x, y, flow=QUICK).value
    chunks = []
    exceeded = _jit.Bound.exceeded

    def too_large(self, made):
        chunks.append(made)
        return len(chunks) == 1

    monkeypatch.setattr(_jit.Bound, "exceeded", too_large)
    found = posterior.log_prob_info(x, y, flow=QUICK, max_memory=2**20).value
    assert_allclose(found, expected, **SAME)
    assert len(chunks) == 2 and exceeded is not too_large


@pytest.mark.slow
def test_adaptive_solves_go_at_once(posterior):
    x, y = values(3)
    flow = Flow(solver=Adaptive(1e-3, 1e-3))
    assert_allclose(
        posterior.log_prob(x, y), posterior.log_prob_info(x, y, flow=flow).value, atol=0.05
    )


def test_inside_transformations_all_is_one_function(posterior):
    x = jnp.asarray(values(5)[0])
    y = jnp.sin(x)
    ask = {"key": jr.key(3), "num_samples": 2, "sampler": FEW}
    inside = eqx.filter_jit(lambda posterior, x: posterior.sample(x, **ask))(posterior, x)
    assert_allclose(inside, posterior.sample(x, **ask), **SAME)
    value, slope = jax.value_and_grad(lambda y: posterior.log_prob_info(x, y, flow=QUICK).value)(y)
    assert_allclose(value, posterior.log_prob_info(x, y, flow=QUICK).value, **SAME)
    step = jnp.zeros_like(y).at[2, 0].set(1e-4)
    ends = [posterior.log_prob_info(x, y + sign * step, flow=QUICK).value for sign in (1, -1)]
    assert_allclose(slope[2, 0], (ends[0] - ends[1]) / 2e-4, rtol=1e-4)


class Own(Amortised):
    """A sampler that says nothing about padding."""

    pads = False

    def program(self, problem):
        assert problem.mask is None and problem.observations.mask is None
        return super().program(problem)


class OwnWay(Amortised):
    """A sampler with a loop of its own."""

    def draw(self, problem, *, key, num_samples):
        return super().draw(problem, key=key, num_samples=num_samples)


@pytest.mark.parametrize("kind", [Own, OwnWay])
def test_samplers_that_know_no_padding(kind, posterior):
    x, _ = values(5)
    found = posterior.sample(x, key=jr.key(4), num_samples=3, sampler=kind(3))
    assert_allclose(found, posterior.sample(x, key=jr.key(4), num_samples=3, sampler=FEW), **SAME)


def test_scores_that_know_no_padding(learnt):
    net = learnt.score.net
    plain = dataclasses.replace(learnt.score, net=lambda *args: net(*args))
    assert learnt.score.pads and not plain.pads
    assert not AbstractSampler.pads and Langevin.pads


def test_free_memory_is_a_share_of_what_there_is():
    device = jax.devices()[0]
    free = _arrays.free_memory(device)
    assert 2**20 < free < 2**50
    assert _arrays.memory_bound(None, device) <= 0.5 * _arrays.free_memory(device) * 1.5
    assert _arrays.memory_bound(123, device) == 123
