"""Random point designs of the plane: lattices, uniform points, clusters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from geomndp import _validation
from geomndp._types import Float

PATTERNS = ("lattice", "disc", "square")
CLUSTERS = "clusters"
CLUSTERED_LATTICE = "clustered-lattice"
CLUSTERED = 0.45  # largest share of the points that lies in clusters


def sample_pattern(
    pattern: str, points: int, density: float, random: np.random.Generator
) -> Float[np.ndarray, "n 2"]:
    """Random points of the plane.

    Args:
        pattern: "lattice", the points of a square lattice nearest to a random centre; "disc" or
            "square", uniform points there.
        points: How many points.
        density: Points per unit of area.
        random: Source of randomness.

    Returns:
        Locations, shape (points, 2).

    Raises:
        ValueError: If there is no such pattern, or the density is not positive.
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
    points: int, density: float, random: np.random.Generator, *, lattice: bool = False
) -> Float[np.ndarray, "n 2"]:
    """Irregular points, a part of which is moved into one to four tight clusters.

    Radii of clusters are log-uniform from 0.003 to 1; every third is one repeated location.

    Args:
        points: How many points.
        density: Points per unit of area before they are moved.
        random: Source of randomness.
        lattice: Whether the other points are a random half of a lattice, not uniform on a disc.

    Returns:
        Locations, shape (points, 2).
    """
    if lattice:
        x = random.permutation(sample_pattern("lattice", 2 * points, 2 * density, random))[:points]
    else:
        x = sample_pattern("disc", points, density, random)
    for members in draw_clusters(points, random):
        radius = 0.0 if random.uniform() < 1 / 3 else 10 ** random.uniform(-2.5, 0)
        offsets = sample_pattern("disc", len(members), len(members) / math.pi, random)
        x[members] = x[members[0]] + radius * offsets
    return x


def draw_clusters(points: int, random: np.random.Generator) -> list[np.ndarray]:
    """Indices of the points of one to four clusters; the first of each is its centre."""
    moved = random.permutation(points)[: random.integers(1, max(int(CLUSTERED * points), 1) + 1)]
    return [members for members in np.array_split(moved, random.integers(1, 5)) if len(members)]


def designs(
    points: int, densities: Mapping[str, tuple[float, float]], num: int, *, seed: int = 0
) -> list[np.ndarray]:
    """Point designs of equal size, cycling through several patterns.

    Args:
        points: Points of each design.
        densities: Pattern, one of `PATTERNS`, "clusters" or "clustered-lattice", to its smallest
            and largest density, in points per unit of area; log-uniform between them.
        num: Number of designs.
        seed: Seed of all of them.

    Returns:
        Locations of the designs, each of shape (points, 2).

    Example:
        >>> sets = designs(100, {"lattice": (0.5, 2.0), "clusters": (1.0, 1.0)}, 10)
    """
    _validation.at_least(1, num=num, points=points)
    random = np.random.default_rng(seed)

    def one(pattern: str, low: float, high: float) -> np.ndarray:
        _validation.positive(low=low, high=high)
        density = math.exp(random.uniform(math.log(low), math.log(high)))
        if pattern in (CLUSTERS, CLUSTERED_LATTICE):
            return sample_clusters(points, density, random, lattice=pattern == CLUSTERED_LATTICE)
        return sample_pattern(pattern, points, density, random)

    cycle = itertools.islice(itertools.cycle(densities.items()), num)
    return [one(pattern, *bounds) for pattern, bounds in cycle]
