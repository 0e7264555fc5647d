"""Small models that every test of this folder shares."""

from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import MixtureProcess, Model, ProcessModel, load
from geomndp.data import Normaliser
from geomndp.gp import GP, Constant
from geomndp.kernels import SquaredExponential, White
from geomndp.model import TrainingSupport
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
def members(gp):
    """Two exact processes in units of their own."""
    smooth = GP(SquaredExponential(1.5), noise=0.05)
    units = Normaliser(y_scale=2.0), Normaliser(y_shift=1.0, x_scale=3.0)
    return ProcessModel(gp, units[0]), ProcessModel(smooth, units[1])


@pytest.fixture
def mixture(members):
    return MixtureProcess(members, np.log([0.3, 0.7]) + 5.0)


@pytest.fixture
def function(gp):
    x = jnp.asarray([[-1.0], [-0.3], [0.2], [0.9], [1.4], [0.2]])
    return x, gp.sample(x, key=jr.key(3))


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> Path:
    """A tiny model with every optional part."""
    net = RelativeAttention(1, 1, width=4, num_layers=1, num_heads=2, bias_width=4, key=jr.key(0))
    kernel = White() + 0.5 * SquaredExponential((0.3,))
    noising = OrnsteinUhlenbeck(kernel, LinearSchedule(0.0, 10.0), Constant(0.5))
    support = TrainingSupport(((-1.0, 1.0),), ((0.0, 2.0),), (2.0,), 0.1, 9, 3, (1e-3, 1.0))
    parts = {"normaliser": Normaliser(), "support": support}
    model = Model(noising, NetworkScore(net, conditional=True), **parts)
    model = model.with_variables("time", "level", units={"time": "days"})
    path = tmp_path_factory.mktemp("valid") / "m.safetensors"
    model.save(path, {"note": 1})
    load(path)
    return path
