"""A second time per point: nothing before training, then what the flow map needs."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import geometry, kernels, model, nets, noising, score
from geomndp.linalg import zero_masked

from ..cases import perturbed, quick, slow_but

SMALL = {"num_layers": 1, "dtype": "float32"}
ATTENTION = SMALL | {"width": 8, "num_heads": 2}
NETS = {
    "relative": (nets.RelativeAttention, (1, 2), ATTENTION | {"num_groups": 2}),
    "bidimensional": (nets.BiDimensionalAttention, (1, 2), ATTENTION),
    "steerable": (nets.Steerable2, (("vector",),), SMALL | {"width": 8, "channels": 4}),
    "spherical": (nets.SphericalAttention, (), ATTENTION),
}


def trained(name):
    """A small network with random parameters everywhere."""
    cls, args, options = NETS[name]
    net = cls(*args, **options, key=jr.key(0))
    return perturbed(net, 0.3, key=jr.key(1))


def points(net):
    """Times, inputs, values on the sphere where there are three, and a mask of one row."""
    x = jr.normal(jr.key(2), (5, net.input_dim), jnp.float32)
    y = jr.normal(jr.key(3), (5, net.output_dim), jnp.float32)
    y = geometry.Sphere(2).retract(y) if net.output_dim == 3 else y
    t, mask = jnp.asarray([[0.0, 0.3, 0.3, 0.3, 0.3], [1.0, 1, 1, 1, 0]], jnp.float32)
    return t, x, y, mask


def process(net):
    schedule = noising.DEFAULT_SCHEDULE_1D
    if net.output_dim == 3:
        return noising.Brownian(geometry.Sphere(2), schedule), score.PreconditionK()
    kernel = kernels.Diagonal(kernels.White(), net.output_dim)
    return noising.OrnsteinUhlenbeck(kernel, schedule), score.Velocity()

    return kernels.Diagonal(kernels.White(), dim)


@pytest.mark.parametrize("name", slow_but(("relative",), NETS))
def test_student_starts_as_its_teacher_and_learns_where_to_go(name, tmp_path):
    teacher = trained(name)
    student = nets.extend_network(teacher, key=jr.key(4), target_times=True)
    assert nets.has_target_times(student) and not nets.has_target_times(teacher)
    t, x, y, mask = points(teacher)
    s = jnp.where(t > 0, 0.05, t)
    moved = eqx.tree_at(lambda n: n.target_time.outer.weight, student, replace_fn=lambda w: w + 0.3)
    process_, parametrisation = process(teacher)

    static = eqx.partition(moved, eqx.is_array)[1]
    lead = quick(lambda net, s: nets.toward(eqx.combine(net, static), s, 5)(t, x, y, mask))

    def leading(net, s):
        return lead(eqx.filter(net, eqx.is_array), s)

    plain = quick(lambda y: teacher(t, x, y, mask))(y)
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(leading(student, s), plain, **near)
    own, other = leading(moved, t), leading(moved, s)
    np.testing.assert_allclose(quick(lambda y: moved(t, x, y, mask))(y), own, **near)
    assert np.abs(other - own)[1:4].max() > 1e-3
    law = score.NetworkScore(moved, parametrisation, conditional=True)
    whole = quick(lambda y: law.flow_map(process_, t, s, x, y, mask))(y)
    np.testing.assert_allclose(whole[0], y[0], atol=1e-6)  # the context stays
    assert not np.any(whole[4])
    process_.manifold.check("values", zero_masked(whole, mask), np.asarray(mask))
    model.Model(process_, law).save(tmp_path / "student")
    again = model.load(tmp_path / "student.safetensors")
    assert again.score.has_flow_map
    assert eqx.tree_equal(again.score.net, moved)


def test_networks_without_target_times_refuse():
    with pytest.raises(ValueError, match="expected a network with target_times=True, got Relative"):
        nets.toward(trained("relative"), jnp.zeros(()), 5)
