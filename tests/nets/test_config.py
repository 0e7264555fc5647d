"""One configuration per network: its arguments, what files store, and the tag of its class."""

import dataclasses

import equinox as eqx
import jax
import jax.random as jr
import pytest
from numpy.testing import assert_array_equal

from geomndp import _model_files, nets


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaleConfig(nets.NetConfig):
    factors: tuple[float, ...] = (1.0,)


def define(tag: str):
    class Scale(nets.AbstractNet[ScaleConfig], tag=tag):
        weight: eqx.nn.Linear

        def __init__(self, *args, key, **options):
            self.config = ScaleConfig(*args, **options)
            self.weight = eqx.nn.Linear(self.input_dim, self.output_dim, key=key)

        def __call__(self, t, x, y, mask=None):
            return y * self.config.factors[0]

    return Scale


@pytest.fixture
def registry(monkeypatch):
    """What a test registers is forgotten after it."""
    for name in ("_CLASSES", "_TAGS"):
        monkeypatch.setattr(_model_files, name, dict(getattr(_model_files, name)))


def test_a_class_statement_registers_a_network(registry):
    scale = define("net/scale")
    assert scale.config_type is ScaleConfig
    # Lists, as JSON has them, become tuples: a configuration is hashable.
    mapping = {"kind": "net/scale", "input_dim": 2, "output_dim": 1, "factors": [2.0, 3.0]}
    net = nets.build(mapping, key=jr.key(0))
    assert type(net) is scale and net.config == ScaleConfig(2, 1, factors=(2.0, 3.0))
    assert len({net.config, ScaleConfig(2, 1, factors=(2.0, 3.0))}) == 1
    assert {"kind": "net/scale", **net.config.to_dict()} == {
        **mapping,
        "factors": (2.0, 3.0),
        "dtype": net.config.dtype,
    }


@pytest.mark.parametrize("tag", ["kernel/scale", "scale"])
def test_tags_of_other_roles_are_refused(tag, registry):
    with pytest.raises(ValueError, match="expected a tag such as 'net/my-net'"):
        define(tag)


def test_every_argument_is_checked():
    with pytest.raises(ValueError, match="expected input_dim to be a whole number >= 1, got 0"):
        ScaleConfig(0, 1)
    with pytest.raises(ValueError, match="expected dtype to be one of"):
        ScaleConfig(1, 1, dtype="float16")
    with pytest.raises(TypeError, match="colour"):
        nets.RelativeAttention(1, 1, colour=1, key=jr.key(0))


SMALL = {"width": 4, "num_layers": 1, "num_heads": 1}
OLD = [
    (nets.BiDimensionalAttention, (2, 1), SMALL | {"tokens": "points"}, "token_axis"),
    (nets.BiDimensionalAttention, (1, 1), SMALL | {"normalised": True}, "pre_norm"),
    (nets.RelativeAttention, (1, 1), SMALL | {"implementation": "xla"}, "attention_backend"),
    (nets.SphericalAttention, (), SMALL | {"absolute": 0.5}, "absolute_min_wavelength"),
    (nets.Steerable2, (), {"channels": 2, "side_dim": 1}, "num_invariant_inputs"),
    (nets.Steerable2, (), {"channels": 2, "num_scales": 2}, "num_pooling_widths"),
    (nets.Steerable2, (), {"channels": 2, "kinds": ("scalar",)}, "representations"),
]


@pytest.mark.parametrize(("cls", "dims", "options", "new"), OLD)
def test_old_arguments_are_taken_for_the_new_ones(cls, dims, options, new):
    old = list(options)[-1]
    message = f"{old} of {cls.__name__}Config is deprecated.*use {new}$"

    def make():
        return eqx.filter_eval_shape(cls, *dims, **options, key=jr.key(0))

    with pytest.warns(DeprecationWarning, match=message):
        net = make()
    assert getattr(net.config, new) == options[old]
    with pytest.warns(DeprecationWarning, match=message) as caught:
        again = nets.with_config(net, **{old: options[old]})
    assert again.config == net.config and caught[0].filename == __file__


def test_parameters_of_another_surface():
    """The planar network's are those of the sphere's; other shapes and parts are refused."""
    sizes = {"channels": 4, "width": 8, "num_layers": 1, "num_radial": 4, "num_pooling_widths": 2}
    plane = nets.Steerable2(("vector",), **sizes, radius=1.9, key=jr.key(0))
    sphere = nets.SteerableSphere(("vector",), **sizes, radius=0.3, key=jr.key(1))
    moved = nets.with_parameters_of(sphere, plane)
    assert moved.config == sphere.config and moved.edge.radius == 0.3
    for own, given in zip(*map(jax.tree.leaves, (moved, plane)), strict=True):
        assert_array_equal(own, given)
    axial = nets.SteerableSphere(("vector",), **sizes, axial=True, key=jr.key(1))
    with pytest.raises(ValueError, match=r"embed.weight of shape"):
        nets.with_parameters_of(axial, plane)
    attentive = nets.Steerable2(("vector",), **sizes, num_heads=2, key=jr.key(0))
    with pytest.raises(ValueError, match="attentions"):
        nets.with_parameters_of(sphere, attentive)
