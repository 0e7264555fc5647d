r"""Values of neighbours, with a transpose that gathers too.

The transpose of $(G h)_{is} = h_{j(i,s)}$ adds what all slots that point to j hold: a scatter, slow
and on a GPU not reproducible. In a graph whose edges all run both ways it is a gather as well: the
edge of slot (i, s) stands once more in the list of its other end, at position `reverse`. JAX has no
way to state such a transpose that also works in forward mode and under vmap, so that these are two
primitives, each the other's transpose.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from geomndp._types import Array, Float, Int


def neighbour_values(
    h: Float[Array, "n c"], index: Int[Array, "n k"], reverse: Int[Array, "n k"]
) -> Float[Array, "n k c"]:
    """Rows of h at `index`.

    Args:
        h: Features of the n points.
        index: Neighbour of each slot; a free slot of point i points to i.
        reverse: Flat position i' k + s' of each slot's edge seen from its other end; a free slot is
            its own reverse.
    """
    return _spread.bind(h, index, reverse)


def _take(h, index, reverse):
    return h[index]


def _add(values, index, reverse):
    n, k, c = values.shape
    return jnp.sum(values.reshape(n * k, c)[reverse], axis=1)


def _derivative_of(primitive: Primitive):
    def rule(primals, tangents):
        out, slope = primitive.bind(*primals), tangents[0]
        if type(slope) is ad.Zero:
            return out, ad.instantiate_zeros(ad.Zero(jax.typeof(out)))
        return out, primitive.bind(slope, *primals[1:])

    return rule


def _transpose_of(other: Primitive):
    def rule(cotangent, v, index, reverse):
        if type(cotangent) is ad.Zero:
            return ad.Zero(v.aval), None, None
        return other.bind(cotangent, index, reverse), None, None

    return rule


def _batch_of(primitive: Primitive):
    """Functions that share the graph become channels; others become more points of one graph."""

    def rule(args, dims):
        v, index, reverse = args
        if dims[1] is None and dims[2] is None:
            v = jnp.moveaxis(v, dims[0], -2)  # (n, b, c) or (n, k, b, c)
            out = primitive.bind(v.reshape(*v.shape[:-2], -1), index, reverse)
            out = out.reshape(*out.shape[:-1], *v.shape[-2:])
            return out, out.ndim - 2
        size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        v, index, reverse = (
            batching.bdim_at_front(a, d, size) for a, d in zip(args, dims, strict=True)
        )
        _, n, k = index.shape
        first = jnp.arange(size, dtype=index.dtype)[:, None, None]
        rows = [jnp.reshape(a, (size * n, k)) for a in (index + n * first, reverse + n * k * first)]
        out = primitive.bind(v.reshape(size * n, *v.shape[2:]), *rows)
        return out.reshape(size, n, *out.shape[1:]), 0

    return rule


def _define(name: str, function, shape) -> Primitive:
    primitive = Primitive(name)
    primitive.def_impl(function)
    primitive.def_abstract_eval(lambda v, index, reverse: v.update(shape=shape(v, index)))
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))
    batching.primitive_batchers[primitive] = _batch_of(primitive)
    ad.primitive_jvps[primitive] = _derivative_of(primitive)
    return primitive


_spread = _define("neighbour_values", _take, lambda v, index: (*index.shape, v.shape[-1]))
_collect = _define("neighbour_sums", _add, lambda v, index: (v.shape[0], v.shape[-1]))
ad.primitive_transposes[_spread] = _transpose_of(_collect)
ad.primitive_transposes[_collect] = _transpose_of(_spread)
