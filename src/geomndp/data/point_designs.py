"""Random fields at many designs of input locations: what a model must see to work at any of them.

On one grid a network meets a handful of distances and one density. Here a share of the batches lies
on the first design and the others on one of many: lattices of other spacings, uniform points on
discs and on squares, tight clusters, half of them thinned out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Float, Int, Mask, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, random_mask
from geomndp.data.generators import AbstractGenerator, Batching, common_inputs_batch
from geomndp.data.grids import CholeskyGenerator, noisy_covariance, white_noise
from geomndp.gp import GP

PATTERNS = ("lattice", "disc", "square")
CLUSTERS = "clusters"
CLUSTERED = 0.45  # largest share of the points that lies in clusters


def sample_pattern(
    pattern: str, points: int, density: float, random: np.random.Generator
) -> Float[np.ndarray, "n 2"]:
    """So many places of the plane, `density` to a unit of area.

    "lattice": the points of a square lattice nearest to a random centre; "disc" and "square":
    uniform ones.
    """
    _validation.one_of("pattern", pattern, PATTERNS)
    _validation.positive(density=density)
    width = math.sqrt(points / density)
    if pattern == "square":
        return random.uniform(-width / 2, width / 2, (points, 2))
    if pattern == "disc":
        angle = random.uniform(0, 2 * math.pi, points)
        radius = width / math.sqrt(math.pi) * np.sqrt(random.uniform(size=points))
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    side = np.arange(-math.ceil(math.sqrt(points)), math.ceil(math.sqrt(points)) + 1)
    lattice = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2) + random.uniform(size=2)
    nearest = np.argsort(np.linalg.norm(lattice, axis=1))[:points]
    return lattice[nearest] / math.sqrt(density)


def sample_clusters(
    points: int, density: float, random: np.random.Generator
) -> Float[np.ndarray, "n 2"]:
    """Uniform points on a disc, a part of which is moved into one to four tight clusters.

    Radii of clusters are log-uniform from 0.003 to 1; every third is one repeated location.
    """
    x = sample_pattern("disc", points, density, random)
    moved = random.permutation(points)[: random.integers(1, max(int(CLUSTERED * points), 1) + 1)]
    for members in np.array_split(moved, random.integers(1, 5)):
        if len(members):
            radius = 0.0 if random.uniform() < 1 / 3 else 10 ** random.uniform(-2.5, 0)
            offsets = sample_pattern("disc", len(members), len(members) / math.pi, random)
            x[members] = x[members[0]] + radius * offsets
    return x


def designs(
    points: int, densities: Mapping[str, tuple[float, float]], num: int, *, seed: int = 0
) -> list[np.ndarray]:
    """`num` sets of so many locations, cycling through the patterns of `densities`.

    Points per unit of area are log-uniform between the two densities of their pattern, which is one
    of `PATTERNS` or "clusters".
    """
    _validation.at_least(1, num=num, points=points)
    random = np.random.default_rng(seed)

    def one(pattern: str, low: float, high: float) -> np.ndarray:
        _validation.positive(low=low, high=high)
        density = math.exp(random.uniform(math.log(low), math.log(high)))
        if pattern == CLUSTERS:
            return sample_clusters(points, density, random)
        return sample_pattern(pattern, points, density, random)

    cycle = itertools.islice(itertools.cycle(densities.items()), num)
    return [one(pattern, *bounds) for pattern, bounds in cycle]


def stacked_generators(gp: GP, sets: list[np.ndarray], dtype=None) -> CholeskyGenerator:
    """One generator whose arrays have a first axis over sets of equally many places.

    Factorised on the device, in double precision whatever JAX's own.
    """
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    with jax.enable_x64(True):
        matrices = (noisy_covariance(gp, jnp.asarray(places, jnp.float64)) for places in sets)
        factors = [jnp.linalg.cholesky(matrix).astype(dtype) for matrix in matrices]
    first = CholeskyGenerator(gp, sets[0][:1], dtype)
    grids = jnp.asarray(np.stack(sets), dtype)
    where = lambda stacked: (stacked.grid, stacked.factor)  # noqa: E731
    return eqx.tree_at(where, first, (grids, jnp.stack(factors)))


@renamed_arguments(samplers="gp_generators", first="first_share", least="min_kept_share")
class MultiDesignGenerator(AbstractGenerator):
    """Training fields, all of a batch at the same set of places.

    A share `first` of the batches has the first set, whole; the others any other, of which half the
    times only a random part is there, a share of the points that is log-uniform from `least` to 1.
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
        place_key, function_key, context_key, count_key = jr.split(key, 4)
        gp_generator, mask = self._places(place_key)
        y = gp_generator(white_noise(gp_generator, jr.split(function_key, self.batch_size)))
        return common_inputs_batch(
            gp_generator.grid, y, mask, self.contexts, context_key, count_key
        )

    def _places(self, key: PRNGKeyArray) -> tuple[CholeskyGenerator, Mask]:
        first_key, set_key, thin_key, part_key, mask_key = jr.split(key, 5)
        sets, n, _ = self.gp_generators.grid.shape
        other = jr.randint(set_key, (), 1, sets, jnp.int32)
        which = jnp.where(jr.bernoulli(first_key, self.first_share), 0, other)
        gp_generator = jax.tree.map(lambda leaf: leaf[which], self.gp_generators)
        part = self.min_kept_share ** jr.uniform(part_key, (), jnp.float32)
        whole = (which == 0) | jr.bernoulli(thin_key)
        count: Int[Array, ""] = jnp.where(whole, n, jnp.ceil(part * n).astype(jnp.int32))
        return gp_generator, random_mask(count[None], n, gp_generator.grid.dtype, key=mask_key)[0]
