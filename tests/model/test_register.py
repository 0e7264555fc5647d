"""Classes of one's own in model files: registered by a tag, refused without."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest

import geomndp as gn
from geomndp import _model_files
from geomndp.model.registered import ROLES
from geomndp.nets import with_config


@dataclasses.dataclass(frozen=True, kw_only=True)
class PointwiseConfig(gn.nets.NetConfig):
    scales: tuple[float, ...] = (1.0,)


class Pointwise(gn.nets.AbstractNet[PointwiseConfig]):
    """A network that is defined outside the package."""

    layer: eqx.nn.Linear

    def __init__(self, *args, key, **options):
        self.config = PointwiseConfig(*args, **options)
        self.layer = eqx.nn.Linear(self.output_dim, self.output_dim, key=key)

    def __call__(self, t, x, y, mask=None):
        return y @ self.layer.weight.T


class Squared(gn.kernels.AbstractKernel):
    """White noise of a variance that is the square of a number."""

    root: float = 1.0
    shared = True

    @property
    def dim(self) -> int:
        return 1

    def __call__(self, x1, x2):
        return jnp.zeros((1, 1), dtype=x1.dtype)

    def gram(self, x, mask=None):
        return gn.kernels.White(self.root**2).gram(x, mask)


@pytest.fixture
def registry(monkeypatch):
    """What a test registers is forgotten after it."""
    for name in ("_CLASSES", "_TAGS"):
        monkeypatch.setattr(_model_files, name, dict(getattr(_model_files, name)))


def model_of(net, kernel=None) -> gn.Model:
    schedule = gn.noising.LinearSchedule(0.0, 10.0)
    noising = gn.noising.OrnsteinUhlenbeck(kernel or gn.kernels.White(), schedule)
    return gn.Model(noising, gn.score.NetworkScore(net))


def test_own_classes_are_saved_and_loaded_once_they_are_registered(registry, tmp_path):
    model = model_of(Pointwise(1, 1, scales=(0.5, 2.0), key=jr.key(0)), Squared(2.0))
    with pytest.raises(ValueError, match=r"got Squared: gn\.register\('role/name', Squared\)"):
        model.save(tmp_path / "m")
    gn.register("kernel/squared", Squared)
    with pytest.raises(ValueError, match="got Pointwise"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
    assert gn.register("net/pointwise")(Pointwise) is Pointwise
    model.save(tmp_path / "m")
    assert eqx.tree_equal(gn.load(tmp_path / "m"), model)


def test_a_file_with_an_unregistered_class_says_how_to_register(registry, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_model_files, "_CLASSES", dict(_model_files._CLASSES))
        patch.setattr(_model_files, "_TAGS", dict(_model_files._TAGS))
        gn.register("net/pointwise", Pointwise)
        model_of(Pointwise(1, 1, key=jr.key(0))).save(tmp_path / "m")
    with pytest.raises(ValueError, match=r"'net/pointwise'; own classes .* gn\.register"):
        gn.load(tmp_path / "m")


def test_the_class_may_move_and_the_file_stays(registry, tmp_path):
    """Files name tags, not Python paths."""
    model = model_of(gn.nets.RelativeAttention(1, 1, width=8, num_layers=1, key=jr.key(0)))
    model.save(tmp_path / "m")
    content = (tmp_path / "m.safetensors").read_bytes()
    assert b"net/relative-attention" in content and b"kernel/white" in content
    assert b"RelativeAttention" not in content and b"geomndp." not in content


WRONG = {
    "role": ("sampler/mine", Pointwise, "tag of one of the roles"),
    "no role": ("mine", Pointwise, "tag of one of the roles"),
    "name": ("net/My Net", Pointwise, "tag such as 'net/my-net'"),
    "base": ("kernel/mine", Pointwise, "subclass of AbstractKernel"),
    "other": ("net/mine", gn.Model, "subclass of AbstractNet"),
    "taken": ("net/relative-attention", Pointwise, "tag of its own"),
    "again": ("kernel/snow", gn.kernels.White, "expected one tag for"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_registrations_are_refused(case, registry):
    tag, cls, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        gn.register(tag, cls)


def test_every_part_of_the_package_that_can_be_saved_has_a_tag():
    modules = (gn.kernels, gn.geometry, gn.noising, gn.nets, gn.score)
    bases = tuple(base for role, base in ROLES.items() if role != "mean")
    for module in modules:
        for name in module.__all__:
            cls = getattr(module, name)
            if isinstance(cls, type) and issubclass(cls, bases) and "Abstract" not in name:
                tag = _model_files.tag_of(cls)
                assert tag is not None, name
                assert issubclass(cls, ROLES[tag.split("/")[0]])


def test_networks_that_are_not_registered_can_be_configured_anew():
    net = Pointwise(1, 1, key=jr.key(0))
    assert with_config(net, scales=(3.0,)).config.scales == (3.0,)
    assert gn.nets.extend_network(net, key=jr.key(1), scales=(3.0,)).config.scales == (3.0,)
