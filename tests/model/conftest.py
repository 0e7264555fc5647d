"""Small models that every test of this folder shares."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import Model
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore, NetworkScore

NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))


@pytest.fixture
def gp():
    return GP(SquaredExponential(0.5), noise=0.01)


@pytest.fixture
def exact(gp):
    return Model(NOISING, GaussianScore(gp))


@pytest.fixture
def learnt():
    net = RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    return Model(NOISING, NetworkScore(net, conditional=True))


@pytest.fixture
def function(gp):
    x = jnp.asarray([[-1.0], [-0.3], [0.2], [0.9], [1.4], [0.2]])
    return x, gp.sample(x, key=jr.key(3))
