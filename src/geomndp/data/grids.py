"""Random fields on one fixed set of locations, common to all functions of a batch."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Batch, Float, Inputs, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, random_mask
from geomndp.data.generators import AbstractGenerator, Batching, common_inputs_batch
from geomndp.gp import GP


def disc(points: int = 30, half_width: float = 10.0, dim: int = 2) -> np.ndarray:
    """Points of a regular grid on [-w, w]^d within distance w of the origin.

    Args:
        points: Points per side of the grid.
        half_width: Half of its width, w.
        dim: Dimension d.

    Returns:
        Locations, shape (n, dim): 648 of a 30 x 30 grid.
    """
    _validation.at_least(2, points=points)
    _validation.positive(half_width=half_width)
    axis = np.linspace(-half_width, half_width, points)
    grid = np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    return grid[np.linalg.norm(grid, axis=1) <= half_width]


class CholeskyGenerator(eqx.Module):
    """Generator of a zero-mean Gaussian process at fixed locations.

    One Cholesky factorisation, then matrix products.

    Attributes:
        grid: The locations, shape (n, d).
        factor: Cholesky factor of the covariance, (n, n) for independent copies of one output, else
            (n p, n p).
        dim: Number of outputs, p.
    """

    grid: Inputs
    factor: Float[Array, "m m"]
    dim: int = eqx.field(static=True)

    def __init__(self, gp: GP, grid: Float[np.ndarray, "n d"], dtype=None):
        """Factorise the covariance, in double precision on the host.

        Args:
            gp: A process without a mean function.
            grid: Locations, shape (n, d).
            dtype: Floating-point type of the draws, by default JAX's own.
        """
        dtype = jnp.dtype(dtype or jnp.result_type(float))
        matrix = covariance(gp, grid)
        self.factor = jnp.asarray(np.linalg.cholesky(matrix), dtype)
        self.grid, self.dim = jnp.asarray(grid, dtype), gp.dim

    def __call__(self, z: Float[Array, "b n p"]) -> Float[Array, "b n p"]:
        """Functions from noise.

        Args:
            z: Independent standard normal numbers, shape (b, n, p).

        Returns:
            Values of b functions on the grid, shape (b, n, p).
        """
        b, n, p = z.shape
        columns = z if len(self.factor) == n else z.reshape(b, n * p, 1)
        drawn = jnp.einsum("ij,bjp->bip", self.factor, columns, precision="highest")
        return drawn.reshape(b, n, p)


def covariance(gp: GP, grid: Float[np.ndarray, "n d"]) -> np.ndarray:
    """Covariance of noisy values on a grid, in double precision whatever JAX's own.

    Args:
        gp: The process.
        grid: Locations, shape (n, d).

    Returns:
        Covariance with the observation noise, (n, n) where the outputs are independent copies, else
        (n p, n p).
    """
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        return np.asarray(noisy_covariance(gp, jnp.asarray(grid, jnp.float64)))


@eqx.filter_jit
def noisy_covariance(gp: GP, x: Inputs) -> Float[Array, "m m"]:
    """Kernel matrix plus the observation noise.

    Args:
        gp: The process.
        x: Locations, shape (n, d).

    Returns:
        Covariance of the noisy values, as of `covariance`, in the type of x.
    """
    matrix = gp.kernel.cross(x, x)
    if isinstance(gp.noise, tuple):
        raise ValueError(f"expected one noise variance for all outputs, got {gp.noise}")
    return matrix + gp.noise * jnp.eye(len(matrix), dtype=x.dtype)


@renamed_arguments(sampler="gp_generator")
class GridGenerator(AbstractGenerator):
    """Training fields on a grid, the context a random part of it.

    Attributes:
        gp_generator: What makes fields from noise.
        batch_size: Fields per batch.
        contexts: How many points are context points; None for no contexts.
        num_functions: Size of a finite training set, None for fresh fields. Field r of a finite set
            is always made from the same noise, so that nothing needs to be stored.
        seed: Seed of a finite set.
    """

    gp_generator: CholeskyGenerator
    batch_size: int = eqx.field(default=32, static=True)
    contexts: ContextSampler | None = ContextSampler(few=50)
    num_functions: int | None = eqx.field(default=None, static=True)
    seed: int = eqx.field(default=0, static=True)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size)
        if self.num_functions is not None:
            _validation.at_least(1, num_functions=self.num_functions)

    @property
    def batching(self) -> Batching:
        return Batching(common_inputs=True, padded=False)

    @property
    def locations(self):
        return self.gp_generator.grid[None]

    def draw(self, key):
        """Make a batch of fields."""
        function_key, mask_key, count_key = jr.split(key, 3)
        grid = self.gp_generator.grid
        mask = jnp.ones(len(grid), grid.dtype)
        return common_inputs_batch(
            grid, self._fields(function_key), mask, self.contexts, mask_key, count_key
        )

    def _fields(self, key: PRNGKeyArray) -> Float[Array, "b n p"]:
        if self.num_functions is None:
            keys = jr.split(key, self.batch_size)
        else:
            rows = jr.randint(key, (self.batch_size,), 0, self.num_functions, jnp.int32)
            keys = jax.vmap(lambda row: jr.fold_in(jr.key(self.seed), row))(rows)
        return self.gp_generator(white_noise(self.gp_generator, keys))


def white_noise(gp_generator: CholeskyGenerator, keys) -> Float[Array, "b n p"]:
    """Standard normal numbers for one field per key.

    Args:
        gp_generator: Generator whose shapes they have.
        keys: Random keys, shape (b,).

    Returns:
        Noise, shape (b, n, p).
    """
    shape = (len(gp_generator.grid), gp_generator.dim)
    return jax.vmap(lambda key: jr.normal(key, shape, gp_generator.grid.dtype))(keys)


def grid_tasks(gp_generator: CholeskyGenerator, *, num: int, contexts: int, seed: int) -> Batch:
    """Fixed test fields with random context points.

    Args:
        gp_generator: What makes fields from noise.
        num: Number of fields.
        contexts: Number of context points of each.
        seed: Seed of fields and contexts.

    Returns:
        The fields, all points in the order of the grid.

    Raises:
        ValueError: If no target would remain.
    """
    _validation.at_least(1, num=num)
    _validation.at_least(0, contexts=contexts)
    _validation.at_least(contexts + 1, points=len(gp_generator.grid))
    field_key, mask_key = jr.split(jr.key(seed))
    y = jax.jit(lambda keys: gp_generator(white_noise(gp_generator, keys)))(
        jr.split(field_key, num)
    )
    n, dtype = len(gp_generator.grid), gp_generator.grid.dtype
    marks = random_mask(jnp.full((num,), contexts, jnp.int32), n, dtype, key=mask_key)
    x = jnp.broadcast_to(gp_generator.grid[None], (num, *gp_generator.grid.shape))
    return Batch(x, y, jnp.ones((num, n), dtype), marks)
