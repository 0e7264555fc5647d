"""Models that correct a Gaussian process: trained with a folder, saved, loaded, refused."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import Model, load
from geomndp._types import Batch
from geomndp._warnings import OutsideTrainingWarning
from geomndp.auto import fit
from geomndp.gp import GP
from geomndp.kernels import KernelRegression, SquaredExponential, White
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore

from .helper import change, document_of

KEY = jr.key(0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model with a process of tables, trained for a few steps in a folder."""
    folder = tmp_path_factory.mktemp("corrected")
    x = np.linspace(-1.0, 1.0, 5)[:, None]
    mean = KernelRegression.fit(SquaredExponential(0.5), x, np.sin(x), 0.01)
    gp = GP(0.3 * SquaredExponential(0.4), mean, 0.01)
    net = RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=KEY)
    score = NetworkScore(net).with_base(gp, key=KEY)
    model = Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), score)
    x = jnp.broadcast_to(jnp.asarray(x)[None], (6, 5, 1))
    data = Batch(x, jnp.sin(x), jnp.ones((6, 5)), jnp.zeros((6, 5)))
    model, _ = fit(model, data, steps=4, key=KEY, directory=folder, quiet=True)
    return folder, model, gp


def test_a_trained_model_comes_back_from_its_folder(trained):
    folder, model, gp = trained
    again = load(folder)
    assert eqx.tree_equal(again.score.net, model.score.net)
    for process in (model.score.base, again.score.base):
        assert process.kernel == gp.kernel and process.noise == gp.noise
        assert_array_equal(process.mean.weights, gp.mean.weights)
    document = document_of(folder / "model.safetensors")
    assert document["base"]["kind"] == "process/gp"


def test_positions_of_the_process_matter(trained):
    _, model, _ = trained
    assert "absolute positions matter" in repr(model)
    with pytest.warns(OutsideTrainingWarning, match="x"):
        model.condition(np.asarray([[9.0], [9.5]]), np.zeros((2, 1)))


def test_another_process_is_refused(trained, tmp_path):
    _, model, _ = trained
    model.save(tmp_path / "a")
    change(tmp_path / "a.safetensors", lambda document: document.pop("base"))
    with pytest.raises(ValueError, match="expected"):
        load(tmp_path / "a")
    wrong = {"kind": "kernel/white", "variance": 1.0}
    model.save(tmp_path / "b")
    change(tmp_path / "b.safetensors", lambda document: document.update(base=wrong))
    with pytest.raises(ValueError, match="expected a known part"):
        load(tmp_path / "b")


def test_a_network_alone_keeps_its_document(tmp_path):
    net = RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=KEY)
    model = Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), NetworkScore(net))
    dataclasses.replace(model).save(tmp_path / "a")
    assert "base" not in document_of(tmp_path / "a.safetensors")
