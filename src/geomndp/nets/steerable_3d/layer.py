"""One layer of the e3nn network; e3nn is imported here, under JAX's usual promotion rules."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Bool, Float, PRNGKeyArray
from geomndp.nets.graph import SOFTENING, Graph, map_in_chunks, neighbour_values, points_per_chunk
from geomndp.nets.layers import linear


def require_e3nn() -> Any:
    """Return e3nn-jax; an extra of the package."""
    try:
        import e3nn_jax
    except ImportError as error:
        raise ImportError("networks over R^3 need e3nn: pip install 'geomndp[groups]'") from error
    return e3nn_jax


@contextlib.contextmanager
def standard() -> Iterator[None]:
    """Let ranks and dtypes promote, as e3nn assumes."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


class IrrepsLinear(eqx.Module):
    """Linear map between irreps, without offset.

    e3nn's own module holds objects that are equal only to themselves: every copy would compile.

    Args:
        irreps_in: Anything that e3nn reads as irreps.
        irreps_out: The irreps of the result.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    weight: Float[Array, " w"]
    irreps_in: str = eqx.field(static=True)
    irreps_out: str = eqx.field(static=True)

    def __init__(self, irreps_in, irreps_out, *, dtype: str, key: PRNGKeyArray):
        e3nn = require_e3nn()
        self.irreps_in = str(e3nn.Irreps(irreps_in).regroup())
        self.irreps_out = str(e3nn.Irreps(irreps_out))
        instructions = self._map().instructions
        keys = jr.split(key, max(len(instructions), 1))
        drawn = [
            part.weight_std * jr.normal(k, (math.prod(part.path_shape),), dtype)
            for part, k in zip(instructions, keys, strict=False)
        ]
        self.weight = jnp.concatenate([jnp.zeros(0, dtype), *drawn])

    def _map(self) -> Any:
        e3nn = require_e3nn()
        return e3nn.FunctionalLinear(e3nn.Irreps(self.irreps_in), e3nn.Irreps(self.irreps_out))

    def __call__(self, h: Any) -> Any:
        """Map an array of irreps whose last axis but one counts points."""
        e3nn, function = require_e3nn(), self._map()
        weight = self.weight.astype(h.dtype)
        out = e3nn.utils.vmap(lambda row: function(weight, row))(h.regroup())
        return e3nn.IrrepsArray(out.irreps, out.array)  # zeros like other numbers from now on


class EdgeFeatures(NamedTuple):
    """Smooth functions of the relative inputs."""

    radial: Float[Array, "n k q"]
    envelope: Float[Array, "n k 1"]
    harmonics: Any
    """Spherical harmonics of the direction up to order 2, times r^l near zero."""


EdgeFunction = Callable[[Float[Array, "n k d"], Bool[Array, "n k"]], EdgeFeatures]


def edge_features(
    offset: Float[Array, "n k d"], real: Bool[Array, "n k"], radius: float, num: int
) -> EdgeFeatures:
    """Features of the edges; free slots have no envelope. Those of a plane lie in space.

    Args:
        offset: x_j - x_i of every slot.
        real: Whether a slot is taken.
        radius: Where the envelope vanishes.
        num: Number of radial basis functions.
    """
    e3nn = require_e3nn()
    offset = jnp.pad(offset, ((0, 0), (0, 0), (0, 3 - offset.shape[2])))
    square = jnp.sum(offset**2, axis=-1, keepdims=True)
    size = jnp.sqrt(square + (SOFTENING * radius) ** 2)
    centres = jnp.linspace(0.0, 1.0, num, dtype=offset.dtype)
    radial = jnp.exp(-0.5 * ((size / radius - centres) * num) ** 2)
    envelope = jnp.where(real[..., None], jnp.maximum(1 - square / radius**2, 0.0) ** 3, 0.0)
    # Not normalised by e3nn, whose direction at r = 0 has no derivative.
    harmonics = e3nn.spherical_harmonics("0e+1o+2e", offset / size, normalize=False)
    return EdgeFeatures(radial, envelope, harmonics)


class SteerableLayer3D(eqx.Module):
    """Messages by weighted tensor products, then a gated update."""

    outgoing: IrrepsLinear
    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    incoming: IrrepsLinear
    own: IrrepsLinear
    gates: IrrepsLinear
    gate_time: eqx.nn.Linear
    hidden: str = eqx.field(static=True)

    def __init__(self, hidden: str, width: int, num_radial: int, *, dtype: str, key: PRNGKeyArray):
        e3nn = require_e3nn()
        keys = jr.split(key, 7)
        irreps = e3nn.Irreps(hidden)
        product = e3nn.tensor_product(irreps, "0e+1o+2e", filter_ir_out=_irreps_in(irreps))
        options: dict[str, Any] = {"dtype": dtype}
        self.hidden = hidden
        self.outgoing = IrrepsLinear(irreps, irreps, **options, key=keys[0])
        self.inner = eqx.nn.Linear(num_radial + 2 * width, width, **options, key=keys[1])
        self.outer = eqx.nn.Linear(width, product.num_irreps, **options, key=keys[2])
        self.incoming = IrrepsLinear(product, irreps, **options, key=keys[3])
        self.own = IrrepsLinear(irreps, irreps, **options, key=keys[4])
        gates = f"{irreps.num_irreps}x0e"
        self.gates = IrrepsLinear(irreps, gates, **options, key=keys[5])
        self.gate_time = eqx.nn.Linear(width, irreps.num_irreps, **options, key=keys[6])

    def __call__(
        self, h: Any, time: Float[Array, "n w"], describe: EdgeFunction, graph: Graph
    ) -> Any:
        """Update of the features."""
        e3nn = require_e3nn()
        sent = self.outgoing(h)
        both = jnp.concatenate([sent.array, time], axis=1)
        n, k = graph.index.shape
        size = points_per_chunk(k)

        def received(rows):
            time, index, reverse, offset, real = rows
            values = neighbour_values(both, index, reverse) if n <= size else both[index]
            return self._received(sent.irreps, values, time, describe(offset, real)).array

        rows = (time, graph.index, graph.reverse, graph.offset, graph.real)
        update = self.own(h) + e3nn.IrrepsArray(h.irreps, map_in_chunks(received, rows, size))
        gates: Array = self.gates(update).array + linear(self.gate_time, time)
        return update * jax.nn.sigmoid(gates)

    def _received(
        self, irreps: Any, neighbours: Float[Array, "b k f"], time, edges: EdgeFeatures
    ) -> Any:
        """Messages from neighbours, with features and times of both ends."""
        e3nn = require_e3nn()
        values = e3nn.IrrepsArray(irreps, neighbours[..., : irreps.dim])
        here = jnp.broadcast_to(time[:, None], (*neighbours.shape[:2], time.shape[1]))
        inputs = jnp.concatenate([edges.radial, here, neighbours[..., irreps.dim :]], axis=-1)
        weights = linear(self.outer, jax.nn.silu(linear(self.inner, inputs))) * edges.envelope
        kept = _irreps_in(irreps)
        product = e3nn.tensor_product(values, edges.harmonics, filter_ir_out=kept) * weights
        total = 1 + jnp.sum(edges.envelope, axis=1)
        return self.incoming(e3nn.sum(product, axis=1) / total)


def _irreps_in(irreps) -> list:
    return sorted({irrep for _, irrep in irreps})
