"""The default sampler: which one, and that requests of every type go through."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import Model
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.model._jit import Bound, CompiledProgram, Settings
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised, Langevin, MomentMatching, TwistedSMC, adams
from geomndp.score import GaussianScore
from geomndp.solve import ExponentialAdams, Multistep

DATA = GP(SquaredExponential(0.5), noise=0.01)
X = jnp.linspace(-1, 1, 4)[:, None]
CONTEXT = jnp.asarray([[0.1], [0.6]]), jnp.asarray([[0.5], [-0.3]])


def model(kernel=None, most=10.0):
    noising = OrnsteinUhlenbeck(White() if kernel is None else kernel, LinearSchedule(0.0, most))
    return Model(noising, GaussianScore(DATA))


def test_steps_and_schedule_choose():
    sampler = model().condition(*CONTEXT).default_sampler(12)
    assert sampler.steps == 12 and isinstance(sampler.step, ExponentialAdams)
    strong = model(most=200.0).condition(*CONTEXT)
    assert isinstance(strong.default_sampler().step, Multistep)
    assert np.isfinite(strong.sample(X, key=0, num_samples=2)).all()
    with pytest.raises(ValueError, match="integral of at most 20"):
        strong.sample(X, key=0, num_samples=2, sampler=adams(4))


def test_a_strong_schedule_is_seen_inside_transformations_too():
    strong = model(most=200.0).condition(*CONTEXT)
    chosen = []

    def traced(x, **sampler):
        chosen.append(strong.default_sampler())
        return strong.sample(x, key=jr.key(0), num_samples=1, **sampler)

    jax.eval_shape(jax.jit(traced), X)
    assert isinstance(chosen[0].step, Multistep)
    with pytest.raises(ValueError, match="integral of at most 20"):
        jax.eval_shape(lambda x: traced(x, sampler=adams(4)), X)


@pytest.mark.parametrize("sampler", [None, Langevin(2, 1), TwistedSMC(2, 4)], ids=str)
def test_noise_with_another_limit_than_white(sampler):
    """Such observations have no diffusion time: samplers of the joint score carry them along."""
    kernel = SquaredExponential(0.5) + White(0.1)
    posterior = model(kernel).condition(*CONTEXT, noise=0.1)
    chosen = MomentMatching(2) if sampler is None else sampler
    if sampler is None:
        assert isinstance(posterior.default_sampler(), MomentMatching)
    drawn = posterior.sample(X, key=jr.key(0), num_samples=2, sampler=chosen)
    assert drawn.shape == (2, 4, 1) and np.isfinite(drawn).all()


@pytest.mark.parametrize("step", [ExponentialAdams(), Multistep()], ids=str)
def test_steps_with_memory_predict_for_correctors(step):
    """With corrections between them, they are their own first-order step."""
    problem = model().condition(*CONTEXT).problem(X)
    found = Langevin(3, 1, step=step).draw(problem, key=jr.key(1), num_samples=2)
    assert np.isfinite(found.y).all()


def test_memory_that_is_held_counts():
    class Program(CompiledProgram):
        """One whose memory the compiler does not know."""

        def __init__(self):
            pass

        def memory(self):
            return 0

    bound = Bound(model().condition(*CONTEXT).problem(X), Settings(max_memory=1000))
    held = jnp.zeros(100, jnp.float32)
    assert bound.smaller(8, Program(), held) < 8
    with pytest.raises(MemoryError):
        bound.smaller(8, Program(), jnp.zeros(1000, jnp.float32))


def test_flow_throughout_or_not_at_all():
    with pytest.raises(ValueError, match="stochastic_above"):
        adams(8, stochastic_above=1.5)
    assert isinstance(adams(8), Amortised)
