"""Models of quarter turns: the identity of the processes, and that of the scores."""

import dataclasses
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import _model_files
from geomndp.data import Normaliser, covariance, field_problem
from geomndp.experiments.vector_fields import rotate_model
from geomndp.experiments.vector_fields.rotate_model import rotated_model
from geomndp.experiments.vector_fields.rotated_sampler import rotation_90
from geomndp.experiments.vector_fields.training import make_model
from geomndp.model import load

from ...cases import perturbed


def test_processes_are_quarter_turns():
    turn = rotation_90(jnp.float64)
    grid = np.random.default_rng(0).normal(size=(7, 2))
    curl, div = (
        jnp.asarray(covariance(field_problem(name).gp, grid)).reshape(7, 2, 7, 2)
        for name in ("curl-free", "div-free")
    )
    turned = jnp.einsum("ap,ipjq,bq->iajb", turn, curl, turn)
    assert jnp.allclose(div, turned, atol=1e-12)
    assert not jnp.allclose(div, curl, atol=1e-2)


@pytest.mark.parametrize("suffix", ["", "-ndp"])
def test_score_of_the_partner_is_the_turned_score(suffix, getkey):
    small = {"width": 8, "num_layers": 1} | ({"num_heads": 2} if suffix else {"channels": 4})
    model = make_model(f"vector-fields/curl-free{suffix}", key=getkey(), **small)
    # The untrained head is zero: any parameters will do.
    net = perturbed(model.score.net, 0.1, key=getkey())
    score = dataclasses.replace(model.score, net=net)
    model = dataclasses.replace(model, score=score)
    x, y, t = jr.normal(getkey(), (9, 2)), jr.normal(getkey(), (9, 2)), jnp.full(9, 0.3)
    x, y, t = (value.astype(jnp.float32) for value in (x, y, t))
    turn = rotation_90(y.dtype)

    @eqx.filter_jit
    def evaluated(model, y):
        return model.score(model.noising, t, x, y, None)

    def odd(y):
        return 0.5 * (evaluated(model, y) - evaluated(model, -y))

    plain = evaluated(model, y)
    turned = evaluated(model, y @ turn.T) if suffix else odd(y @ turn.T)
    found, expected = evaluated(rotated_model(model), y), turned @ turn
    assert jnp.linalg.norm(found - expected) < 1e-4 * jnp.linalg.norm(expected)
    assert jnp.linalg.norm(found - plain) > 1e-4 * jnp.linalg.norm(plain)


def test_a_model_is_turned_on_disk(tmp_path, monkeypatch, getkey):
    name = "vector-fields/curl-free"
    made = make_model(name, key=getkey(), channels=4, width=8, num_layers=1)
    made.save(str(tmp_path / "curl"), {"experiment": name, "metrics": {"a": 1}})
    paths = [str(tmp_path / name) for name in ("curl", "div", "back")]
    for pair in (paths[:2], paths[1:]):
        monkeypatch.setattr(sys, "argv", ["rotate_model", *pair])
        rotate_model.main()
    assert load(paths[1]).score.net.config.representations == ("pseudovector",)
    assert load(paths[2]).score.net.config.representations == ("vector",)
    notes = _model_files.metadata(paths[1])
    assert notes["experiment"] == "vector-fields/div-free"
    assert notes["metrics"] == {}


def test_equivariant_models_are_trained_on_their_own_fields_and_ndp_is_rotated():
    for name in ("se", "curl-free", "div-free"):
        config = load(f"vector-fields/{name}").score.net.config
        assert config.representations == ("vector",) and not config.odd
    ndp, turned = (load(f"vector-fields/{n}-free-ndp").score.net for n in ("curl", "div"))
    expected = rotated_model(load("vector-fields/curl-free-ndp")).score.net
    for found, leaf in zip(jax.tree.leaves(turned), jax.tree.leaves(expected), strict=True):
        assert bool(jnp.all(found == leaf))
    assert not bool(jnp.all(turned.head.weight == ndp.head.weight))


def test_what_has_a_direction_is_refused(getkey):
    model = make_model("vector-fields/curl-free", key=getkey(), channels=4, num_layers=1)
    kernel = field_problem("curl-free").gp.kernel
    noising = dataclasses.replace(model.noising, kernel=kernel)
    with pytest.raises(ValueError, match="expected a white limiting kernel"):
        rotated_model(dataclasses.replace(model, noising=noising))
    scaled = dataclasses.replace(model, normaliser=Normaliser(y_scale=(1.0, 2.0)))
    with pytest.raises(ValueError, match="without mean and scales"):
        rotated_model(scaled)


def test_partner_of_other_models_is_refused(getkey):
    model = make_model("vector-fields/hessian", key=getkey(), channels=4, num_layers=1)
    with pytest.raises(ValueError, match="planar vectors"):
        rotated_model(model)
