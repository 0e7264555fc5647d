"""Models as files: round trips, and what is refused."""

import dataclasses
import json

import equinox as eqx
import jax.random as jr
import pytest

from geomndp import Model, _shipped, load
from geomndp.data import Normaliser
from geomndp.gp import Constant
from geomndp.kernels import Diagonal, Periodic, SquaredExponential, White
from geomndp.nets import BiDimensionalAttention
from geomndp.noising import CosineSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore, PreconditionK


def test_round_trip_is_the_identity(learnt, function, tmp_path):
    x, y = function
    model = dataclasses.replace(learnt, normaliser=Normaliser(1.0, 2.0, 3.0, 4.0))
    model.save(tmp_path / "folder" / "a", {"note": 1})
    again = load(tmp_path / "folder" / "a.json")
    assert eqx.tree_equal(again, model)
    assert _shipped.metadata(tmp_path / "folder" / "a") == {"note": 1}
    assert again.log_prob(x, y) == model.log_prob(x, y)
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == ["a.json", "a.safetensors"]


def test_every_part_survives(tmp_path):
    kernel = Diagonal(0.5 * SquaredExponential(0.3) + White(0.1) * Periodic(1.0, 2.0), 2)
    noising = OrnsteinUhlenbeck(kernel, CosineSchedule(8.0), Constant(0.5, 2))
    net = BiDimensionalAttention(3, 2, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    model = Model(noising, NetworkScore(net, PreconditionK()), eps=1e-3)
    model.save(tmp_path / "b")
    assert eqx.tree_equal(load(tmp_path / "b"), model)


def test_exact_scores_and_foreign_parts_are_not_saved(exact, learnt, tmp_path):
    with pytest.raises(ValueError, match="NetworkScore"):
        exact.save(tmp_path / "c")
    noising = dataclasses.replace(learnt.noising, mean=lambda x: x)
    with pytest.raises(ValueError, match="plain value for mean"):
        dataclasses.replace(learnt, noising=noising).save(tmp_path / "c")
    assert not list(tmp_path.iterdir())


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"shipped name \(.*\), got 'regression9d/se'"):
        load("regression9d/se")


def _edit(path, **changes):
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **changes}))


DAMAGE = {
    "checksum": (lambda p: (p / "m.safetensors").write_bytes(b"0" * 64), "checksum"),
    "no parameters": (lambda p: (p / "m.safetensors").unlink(), "expected parameters"),
    "not json": (lambda p: (p / "m.json").write_text("{"), "foreign or damaged"),
    "foreign": (lambda p: _edit(p / "m.json", format="other"), "foreign or damaged"),
    "version": (lambda p: _edit(p / "m.json", version=99), "model version 1, got 99"),
    "code": (lambda p: _edit(p / "m.json", noising={"kind": "os.system"}), "known part"),
    "net": (lambda p: _edit(p / "m.json", net={"kind": "evil"}), "kind"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_files_are_refused(case, learnt, tmp_path):
    damage, message = DAMAGE[case]
    learnt.save(tmp_path / "m")
    damage(tmp_path)
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m")
