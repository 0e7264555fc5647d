"""Random fields at many point designs, which a model must see in training to work at any of them.

On one grid a network meets a handful of distances and one density. Here a share of the batches lies
on the first design and the others on one of many (`point_designs`), half of them thinned.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Int, Mask, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, random_mask
from geomndp.data.generators import AbstractGenerator, Batching, common_inputs_batch
from geomndp.data.grids import CholeskyGenerator, noisy_covariance, white_noise
from geomndp.gp import GP
from geomndp.linalg import cholesky


def stacked_generators(gp: GP, sets: list[np.ndarray], dtype=None) -> CholeskyGenerator:
    """One generator for several designs: its arrays have a first axis over them.

    Factorised on the device, in double precision whatever JAX's own.

    Args:
        gp: A process without a mean function.
        sets: Locations of the designs, each of shape (n, d).
        dtype: Floating-point type of the draws, by default JAX's own.

    Returns:
        A stacked generator, as `MultiDesignGenerator` takes it.
    """
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    with jax.enable_x64(True):
        matrices = (noisy_covariance(gp, jnp.asarray(x, jnp.float64)) for x in sets)
        factors = [cholesky(matrix).astype(dtype) for matrix in matrices]
    first = CholeskyGenerator(gp, sets[0][:1], dtype)
    grids = jnp.asarray(np.stack(sets), dtype)
    where = lambda stacked: (stacked.grid, stacked.factor)  # noqa: E731
    return eqx.tree_at(where, first, (grids, jnp.stack(factors)))


@renamed_arguments(samplers="gp_generators", first="first_share", least="min_kept_share")
class MultiDesignGenerator(AbstractGenerator):
    """Training fields at several designs, all fields of a batch at the same one.

    Attributes:
        gp_generators: Generators of all designs, as `stacked_generators` makes them.
        batch_size: Fields per batch.
        contexts: How many points are context points; None for no contexts.
        first_share: Share of the batches at the first design, with all its points. The others lie
            at any other, half of them thinned.
        min_kept_share: Smallest share of the points that a thinned batch keeps, log-uniform from
            there to 1.
    """

    gp_generators: CholeskyGenerator
    batch_size: int = eqx.field(default=32, static=True)
    contexts: ContextSampler | None = ContextSampler(few=50)
    first_share: float = eqx.field(default=0.5, static=True)
    min_kept_share: float = eqx.field(default=0.35, static=True)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size)
        _validation.at_least(2, sets=len(self.gp_generators.grid))
        for name, share in (
            ("first_share", self.first_share),
            ("min_kept_share", self.min_kept_share),
        ):
            if not 0 < share <= 1:
                raise ValueError(f"expected 0 < {name} <= 1, got {share}")

    @property
    def batching(self) -> Batching:
        return Batching(common_inputs=True)

    @property
    def locations(self):
        return self.gp_generators.grid

    def draw(self, key):
        """Make a batch; all its functions have the same inputs and the same mask."""
        design_key, function_key, context_key, count_key = jr.split(key, 4)
        gp_generator, mask = self._design(design_key)
        y = gp_generator(white_noise(gp_generator, jr.split(function_key, self.batch_size)))
        return common_inputs_batch(
            gp_generator.grid, y, mask, self.contexts, context_key, count_key
        )

    def _design(self, key: PRNGKeyArray) -> tuple[CholeskyGenerator, Mask]:
        first_key, set_key, thin_key, share_key, mask_key = jr.split(key, 5)
        sets, n, _ = self.gp_generators.grid.shape
        other = jr.randint(set_key, (), 1, sets, jnp.int32)
        index = jnp.where(jr.bernoulli(first_key, self.first_share), 0, other)
        gp_generator = jax.tree.map(lambda leaf: leaf[index], self.gp_generators)
        kept_share = self.min_kept_share ** jr.uniform(share_key, (), jnp.float32)
        unpadded = (index == 0) | jr.bernoulli(thin_key)
        count: Int[Array, ""] = jnp.where(unpadded, n, jnp.ceil(kept_share * n).astype(jnp.int32))
        return gp_generator, random_mask(count[None], n, gp_generator.grid.dtype, key=mask_key)[0]
