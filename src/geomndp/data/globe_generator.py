r"""Training fields on the Earth from few observed ones, turned about the axis and mirrored.

A rotation about the Earth's axis moves points along their parallels and leaves (east, north)
components as they are; the mirror image of the hemispheres changes the sign of heights and of
north components. Both keep what a location's latitude means.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, context_mask, leading_mask
from geomndp.data.generators import (
    SEPARATE,
    AbstractGenerator,
    Batching,
    common_inputs_batch,
)

MIRRORED = ((1.0, 1.0, -1.0), (1.0, -1.0))
"""Signs of unit vectors and of (east, north) components in the mirror image of the hemispheres."""


class GlobeGenerator(AbstractGenerator):
    """Tangent or scalar fields drawn from observed ones, each at random points of its grid.

    Points are drawn without replacement, with probabilities proportional to their areas.

    Attributes:
        x: Unit vectors of the grid, shape (n, 3).
        y: Values of all fields, shape (s, n, p): (east, north) components, or scalars (p = 1).
        log_area: Logarithms of the areas of the points, shape (n,).
        num_points: Most points per field of a batch.
        min_points: Fewest points; a batch has any number between the two.
        common_points: Whether all fields of a batch have the same points, turned and mirrored
            together: what a network computes from these alone is then computed once.
        batch_size: Fields per batch.
        contexts: How many points are context points; None for no contexts.
        rotate: Whether fields are turned about the axis by random angles.
        mirror: Whether half of them are mirror images of the hemispheres.
    """

    x: Float[Array, "n 3"]
    y: Float[Array, "s n p"]
    log_area: Float[Array, " n"]
    num_points: int = eqx.field(default=400, static=True)
    batch_size: int = eqx.field(default=16, static=True)
    contexts: ContextSampler | None = ContextSampler(few=200)
    rotate: bool = eqx.field(default=True, static=True)
    mirror: bool = eqx.field(default=True, static=True)
    min_points: int | None = eqx.field(default=None, static=True)
    common_points: bool = eqx.field(default=False, static=True)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size, functions=len(self.y))
        _validation.at_least(self.num_points, points=len(self.x))
        _validation.at_least(2, num_points=self.num_points, min_points=self._fewest)
        _validation.at_least(self._fewest, num_points=self.num_points)
        _validation.shape("x", self.x, (self.y.shape[1], 3))
        _validation.shape("log_area", self.log_area, (len(self.x),))
        _validation.one_of("the number of outputs", self.y.shape[2], (1, 2))

    @property
    def _fewest(self) -> int:
        return self.num_points if self.min_points is None else self.min_points

    @property
    def batching(self) -> Batching:
        padded = self._fewest < self.num_points
        return Batching(common_inputs=True, padded=padded) if self.common_points else SEPARATE

    def draw(self, key):
        """Make a batch of turned and mirrored fields at random points, in random order."""
        row_key, point_key, turn_key, context_key = jr.split(key, 4)
        b, m = self.batch_size, self.num_points
        rows = jr.randint(row_key, (b,), 0, len(self.y), jnp.int32)
        draws = 1 if self.common_points else b
        index = jax.vmap(self._points)(jr.split(point_key, draws))
        turns, index = jr.split(turn_key, draws), jnp.broadcast_to(index, (b, m))
        x, y = self.x[index], self.y[rows[:, None], index]
        x, y = jax.vmap(self._moved)(x, y, jnp.broadcast_to(turns, (b,)))
        count_key, context_key = jr.split(context_key)
        points = jr.randint(count_key, (), self._fewest, m + 1, jnp.int32)
        if self.common_points:
            mask = leading_mask(points[None], m, x.dtype)[0]
            return common_inputs_batch(x[0], y, mask, self.contexts, *jr.split(context_key))
        counts = jnp.broadcast_to(points, (b,))
        mask, context = context_mask(counts, m, self.contexts, x.dtype, key=context_key)
        return Batch(x, y, mask, context)

    def _points(self, key: PRNGKeyArray) -> Array:
        """Indices of points, drawn one after the other: the largest of Gumbel variables."""
        gumbel = jr.gumbel(key, self.log_area.shape, self.log_area.dtype)
        return jax.lax.top_k(self.log_area + gumbel, self.num_points)[1]

    def _moved(self, x: Array, y: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        angle_key, mirror_key = jr.split(key)
        if self.rotate:
            angle = jr.uniform(angle_key, (), x.dtype, 0.0, 2 * np.pi)
            cos, sin = jnp.cos(angle), jnp.sin(angle)
            x = jnp.stack(
                [cos * x[:, 0] - sin * x[:, 1], sin * x[:, 0] + cos * x[:, 1], x[:, 2]], 1
            )
        if self.mirror:
            flip = jr.bernoulli(mirror_key)
            signs = [jnp.asarray(part, x.dtype)[None] for part in MIRRORED]
            x = jnp.where(flip, signs[0] * x, x)
            y = jnp.where(flip, signs[1] * y, y) if y.shape[1] == 2 else y
        return x, y
