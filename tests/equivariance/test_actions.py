"""Actions are homomorphisms by orthogonal matrices; bases turn them into irreducible blocks."""

import cmath

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.equivariance import (
    ORDERS,
    REPRESENTATIONS,
    FieldType,
    RigidTransform,
    circular_basis,
    irreps_of,
    random_transform,
    spherical_basis,
    symmetric_basis,
)
from geomndp.kernels import CurlFree, Diagonal, DivergenceFree, Hessian, Matern32, White

both = pytest.mark.parametrize("dim", [2, 3])
either = pytest.mark.parametrize("reflect", [False, True])


@both
def test_action_is_an_orthogonal_homomorphism(dim, getkey):
    codomain = FieldType(dim, *REPRESENTATIONS)
    g, h = (random_transform(dim, key=getkey()) for _ in range(2))
    d_g, d_h, d_gh = (codomain.action(m.matrix) for m in (g, h, g.compose(h)))
    assert_allclose(d_gh, d_g @ d_h, atol=1e-12)
    assert_allclose(d_g @ d_g.T, np.eye(codomain.size), atol=1e-12)


@both
def test_motions_compose_and_invert(dim, getkey):
    g, h = (random_transform(dim, key=getkey()) for _ in range(2))
    x = jr.normal(getkey(), (4, dim + 1))
    assert_allclose(g.compose(h).act_on_inputs(x), g.act_on_inputs(h.act_on_inputs(x)), atol=1e-12)
    assert_allclose(g.inverse().act_on_inputs(g.act_on_inputs(x)), x, atol=1e-12)
    assert_allclose(g.act_on_inputs(x)[:, dim], x[:, dim], atol=0)


@both
@either
def test_random_motions_reflect_as_asked(dim, reflect, getkey):
    g = random_transform(dim, key=getkey(), reflect=reflect, dtype=jnp.float32)
    assert g.matrix.dtype == jnp.float32
    assert_allclose(jnp.linalg.det(g.matrix), -1.0 if reflect else 1.0, atol=1e-5)


@both
def test_tensors_turn_on_both_sides(dim, getkey):
    g = random_transform(dim, key=getkey())
    tensor, r = np.asarray(jr.normal(getkey(), (dim, dim))), np.asarray(g.matrix)
    turned = g.act_on_outputs(jnp.asarray(tensor.reshape(1, -1)), FieldType(dim, "tensor"))
    assert_allclose(turned.reshape(dim, dim), r @ tensor @ r.T, atol=1e-12)
    even, basis = tensor + tensor.T, symmetric_basis(dim)
    components = np.einsum("ij,ija->a", even, basis)[None]
    assert_allclose(np.einsum("a,ija->ij", components[0], basis), even, atol=1e-12)
    turned = g.act_on_outputs(jnp.asarray(components), FieldType(dim, "symmetric"))
    assert_allclose(turned[0], np.einsum("ij,ija->a", r @ even @ r.T, basis), atol=1e-12)


@either
def test_circular_channels_are_multiplied_by_a_phase(reflect, getkey):
    codomain = FieldType(2, *REPRESENTATIONS, "vector")
    basis = circular_basis(codomain)
    assert_allclose(np.einsum("mqcp,mqcr->pr", basis, basis), np.eye(codomain.size), atol=1e-12)
    g = random_transform(2, key=getkey(), reflect=reflect)
    phase = cmath.phase(complex(g.matrix[0, 0], g.matrix[1, 0]))  # of the image of e_1

    def channels(y):
        parts = np.einsum("mqcp,p->mqc", basis, y)
        return parts[:, 0] + 1j * parts[:, 1]

    y = np.asarray(jr.normal(getkey(), (codomain.size,)))
    plain = channels(y).conj() if reflect else channels(y)
    turned = channels(np.asarray(codomain.action(g.matrix)) @ y)
    for m in ORDERS:
        assert_allclose(turned[m], np.exp(1j * m * phase) * plain[m], atol=1e-12)


@either
def test_spherical_basis_leads_to_e3nn_irreps(reflect, getkey):
    codomain = FieldType(3, *REPRESENTATIONS)
    basis, irreps = spherical_basis(codomain), e3nn.Irreps(irreps_of(codomain))
    assert_allclose(basis @ basis.T, np.eye(codomain.size), atol=1e-6)
    g = random_transform(3, key=getkey(), reflect=reflect)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        blocks = np.asarray(irreps.D_from_matrix(g.matrix))
    assert_allclose(basis @ codomain.action(g.matrix) @ basis.T, blocks, atol=1e-6)


KERNELS = {
    "diagonal": lambda d: (Diagonal(Matern32(1.1), d), "vector"),
    "diagonal-white": lambda d: (Diagonal(White(0.5), d), "vector"),
    "curl-free": lambda d: (CurlFree(1.2, 1.5, dim=d), "vector"),
    "divergence-free": lambda d: (DivergenceFree(1.2, 1.5, dim=d), "vector"),
    "hessian": lambda d: (Hessian(1.2, 1.5, space=d), "symmetric"),
}


@pytest.mark.parametrize("name", KERNELS)
@both
@either
def test_kernels_are_equivariant(name, dim, reflect, getkey):
    kernel, kind = KERNELS[name](dim)
    codomain = FieldType(dim, kind)
    x, g = jr.normal(getkey(), (4, dim)), random_transform(dim, key=getkey(), reflect=reflect)
    action = np.kron(np.eye(4), codomain.action(g.matrix))
    moved = jax.jit(lambda x: kernel.gram(x).dense())(g.act_on_inputs(x))
    assert_allclose(moved, action @ kernel.gram(x).dense() @ action.T, atol=1e-11)


@both
def test_hessian_kernel_is_the_fourth_derivative(dim, getkey):
    scale, basis = 1.2, symmetric_basis(dim)
    x1, x2 = jr.normal(getkey(), (2, dim))

    def k0(a, b):
        return 1.5 * jnp.exp(-0.5 * jnp.sum(((a - b) / scale) ** 2))

    fourth = jax.jit(jax.hessian(lambda b: jax.hessian(k0, 0)(x1, b)))(x2)
    expected = np.einsum("ija,ijkl,klb->ab", basis, scale**4 * fourth, basis)
    assert_allclose(Hessian(scale, 1.5, space=dim)(x1, x2), expected, atol=1e-11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FieldType(4, "vector"), "expected dim to be one of 2, 3, got 4"),
        (lambda: FieldType(2), "expected at least one representation, got none"),
        (lambda: FieldType(2, "spinor"), "expected representation to be one of"),
        (lambda: circular_basis(FieldType(3, "vector")), "expected values over the plane"),
        (lambda: irreps_of(FieldType(2, "vector")), "expected values over R\\^3"),
        (
            lambda: RigidTransform(jnp.eye(2), jnp.zeros(2)).act_on_outputs(
                jnp.ones((3, 1)), FieldType(2, "vector")
            ),
            r"expected y of shape \(3, 2\)",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()
